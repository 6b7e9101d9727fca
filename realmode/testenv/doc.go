// Package testenv runs a real kube-apiserver and etcd on loopback, for tests
// that want the real thing.
//
//	server, err := testenv.Start(ctx, testenv.Options{Controllers: true})
//	…
//	defer server.Stop()
//	client.New(server.Config(), client.Options{})
//
// The programs are built from source when they are needed first, by package
// binaries; controller-runtime's envtest starts them. What this package adds:
//
//   - a token for a member of system:masters, beside envtest's client
//     certificates, so that plain HTTP clients and kubectl can be used;
//   - kube-controller-manager, if asked for, and with it the ServiceAccount
//     admission plugin, which envtest switches off because the controllers that
//     it depends on do not run;
//   - [Server.Compact] and [Server.Restart], by which a test reaches the states
//     of a server that has lost its history;
//   - an end for the servers in every case: when the test process dies without
//     calling [Server.Stop], be it by SIGKILL, a panic or the timeout of go test,
//     a guard process kills them and deletes their files.
//
// There is no node: no kubelet and no scheduler, so no pod ever runs. Admission
// webhooks need nothing special, since the server reaches any address on
// loopback.
//
// Everything listens on 127.0.0.1 only. A server takes about 330 MiB, 400 with
// controllers, and a few seconds to start; tests share one where they can.
// etcd does not sync to disk.
//
// A [Server]'s methods may be called from several goroutines, but Restart and
// Stop only when nobody else uses it.
package testenv
