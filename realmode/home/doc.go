// Package home binds core/home to a real cluster and a real machine.
//
//	kube, err := home.NewKube(ctx, restConfig)
//	h, err := corehome.New(ctx, corehome.Config{
//		Kube: kube, Files: home.Files{}, Web: home.NewWeb(), Cgroups: home.Cgroups{}, Clock: clock.New(), …
//	})
//
// What core/home asks of each port is what its conformance tests check here: of the
// cluster, the suite that the stand-in passes too.
package home
