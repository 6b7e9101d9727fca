package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const (
	configFile = "/etc/kubernetes/enc.yaml"
	socket     = "unix:///var/run/kmsplugin/kms-1.sock"
)

var storedSecrets = schema.GroupResource{Resource: "secrets"}

// providers is an EncryptionConfiguration for secrets: "i" is identity, "k" KMS, any
// other letter an aesgcm key of that name.
func providers(list string) []byte {
	b := strings.Builder{}
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n")
	for _, p := range list {
		switch p {
		case 'i':
			b.WriteString("  - identity: {}\n")
		case 'k':
			b.WriteString("  - kms: {apiVersion: v2, name: 1_secrets, endpoint: '" + socket + "', timeout: 10s}\n")
		default:
			fmt.Fprintf(&b, "  - aesgcm: {keys: [{name: '%c', secret: %s}]}\n", p, strings.Repeat(string(p), 43)+"=")
		}
	}
	return []byte(b.String())
}

// vaulted is a lab with API servers on nodes of their own, the i-th on node i+1.
func vaulted(t *testing.T, cfg cluster.Config, picks ...engine.Pick) *lab {
	cfg.Nodes = max(cfg.APIServers, 1)
	l := newLab(t, cfg, picks...)
	for i, inst := range l.c.Instances() {
		inst.Place(l.c.Nodes()[i])
	}
	return l
}

// load writes a file onto the disk of an API server's node, and starts the server with it.
func (l *lab) load(i int, list string, reload bool) {
	l.t.Helper()
	inst := l.c.Instances()[i]
	l.file(i, list)
	inst.SetEncryption(cluster.EncryptionFlags{ProviderConfig: configFile, AutomaticReload: reload})
	inst.Stop()
	inst.Start()
}

func (l *lab) file(i int, list string) {
	l.t.Helper()
	l.must(l.c.Instances()[i].Node().Disk().WriteFile(configFile, providers(list)))
}

func aSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string][]byte{"v": []byte(name)}}
}

// stored lists secrets with what they are sealed by.
func (l *lab) stored() string {
	var out []string
	for _, o := range l.c.Store().Stored(storedSecrets) {
		out = append(out, o.Name+"="+o.SealedBy.String())
	}
	return strings.Join(out, " ")
}

func TestEachAPIServerSealsByItsOwnFile(t *testing.T) {
	l := vaulted(t, cluster.Config{APIServers: 2})
	l.load(0, "ai", false)
	l.load(1, "bai", false)
	for i := range 2 {
		l.c.Node(fmt.Sprintf("node-%d", i+1)).Process(cluster.ProcessSpec{Name: fmt.Sprintf("agent-%d", i), Main: func(ctx context.Context, env *cluster.Env) {
			l.must(env.Clock.Sleep(ctx, time.Duration(i)*time.Second))
			name := fmt.Sprintf("s%d", i)
			l.say("create: %s", result(env.Client.Create(ctx, aSecret(name))))
			l.must(env.Clock.Sleep(ctx, 10*time.Second))
			l.say("get s0: %s", result(env.Kube.Get(ctx, keyOf("s0"), &corev1.Secret{})))
			l.say("get s1: %s", result(env.Kube.Get(ctx, keyOf("s1"), &corev1.Secret{})))
			l.must(env.Clock.Sleep(ctx, time.Hour))
		}})
	}
	l.at(20*time.Second, func() { l.say("stored: %s", l.stored()) })
	const broken = "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/s1, ResourceVersion: 0, " +
		"AdditionalErrorMsg: data from the storage is not transformable revision=0: no matching key was found for the provided AES transformer"
	l.run(20*time.Second,
		"2: create: ok", "1002: create: ok",
		"10004: get s0: ok", "10006: get s1: "+broken,
		"11004: get s0: ok", "11006: get s1: ok",
		"20000: stored: s0=aesgcm:a s1=aesgcm:b")
}

// TestAProcessThatCannotLoadItsFile ends at once, and is started again with a back-off.
func TestAProcessThatCannotLoadItsFile(t *testing.T) {
	l := vaulted(t, cluster.Config{APIServers: 1})
	inst := l.c.Instances()[0]
	inst.SetEncryption(cluster.EncryptionFlags{ProviderConfig: configFile})
	look := func() {
		why := ""
		if err := inst.StartError(); err != nil {
			why = strings.Split(err.Error(), ":")[0]
		}
		l.say("down=%v %v %s", inst.Down(), inst.Readyz(), why)
	}
	l.at(0, func() { inst.Restart(time.Second) })
	for _, at := range []int{500, 1500, 12_000, 40_000, 80_000} {
		l.at(time.Duration(at)*time.Millisecond, look)
	}
	l.at(50*time.Second, func() { l.file(0, "ai") })
	l.run(2*time.Minute,
		"500: down=true the API server is down ",
		"1500: down=true the API server is starting error while parsing file",
		"12000: down=true the API server is starting error while parsing file",
		"40000: down=true the API server is starting error while parsing file",
		"80000: down=false <nil> ")
}

// TestANodeTakesItsAPIServerAndPluginDown, and both come up with it: the server waits for
// the plugin's Status, and reads nothing before the plugin answers.
func TestANodeTakesItsAPIServerAndPluginDown(t *testing.T) {
	l := vaulted(t, cluster.Config{APIServers: 1})
	n, inst := l.c.Node("node-1"), l.c.Instances()[0]
	plugin := kms.NewPlugin(kms.NewVault("kek-1"), nil)
	listen := func() { l.must(n.Sockets().Listen(socket, plugin)) }
	listen()
	l.load(0, "ki", false)
	l.c.ControlPlane().Process(cluster.ProcessSpec{Name: "client", Main: func(ctx context.Context, env *cluster.Env) {
		l.say("create: %s", result(env.Client.Create(ctx, aSecret("s"))))
		for {
			l.must(env.Clock.Sleep(ctx, 20*time.Second))
			err := env.Kube.Get(ctx, keyOf("s"), &corev1.Secret{})
			l.say("get: %s", strings.ReplaceAll(result(err), "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/s, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: ", "500 "))
		}
	}})
	l.at(30*time.Second, n.Crash)
	l.at(50*time.Second, n.Start)
	l.at(55*time.Second, func() { l.say("ready: %v", inst.Readyz()) })
	l.at(90*time.Second, listen)
	l.run(125*time.Second,
		"2: create: ok", "20004: get: ok",
		`40005: get: Get "https://10.96.0.1:443/api/v1/namespaces/default/secrets/s": dial tcp 10.96.0.1:443: connect: connection refused`,
		"55000: ready: the API server is starting",
		"60007: get: 500 got unexpected nil transformer", // it waited 10 s for Status
		"80009: get: 500 got unexpected nil transformer",
		"100011: get: ok", "120013: get: ok")
	l.lines = nil
	plugin.Behave(kms.Outage(errors.New("down")))
	inst.Restart(time.Second)
	l.run(145*time.Second, "140015: get: 500 got unexpected nil transformer")
}

// TestPluginsTakeTheirTime: a request that needs a plugin is answered when the plugin
// has answered.
func TestPluginsTakeTheirTime(t *testing.T) {
	l := vaulted(t, cluster.Config{APIServers: 2})
	vault := kms.NewVault("kek-1")
	for _, n := range l.c.Nodes() {
		p := kms.NewPlugin(vault, nil)
		p.Behave(kms.Behaviour{LatencyOf: map[kms.Call]time.Duration{kms.Decrypt: 300 * time.Millisecond}})
		l.must(n.Sockets().Listen(socket, p))
	}
	l.load(0, "ki", false)
	l.load(1, "ki", false)
	l.must(l.c.Admin().Create(t.Context(), aSecret("s"))) // sealed by apiserver-0
	l.c.ControlPlane().Process(cluster.ProcessSpec{Name: "first", Main: func(context.Context, *cluster.Env) {}})
	l.c.ControlPlane().Process(cluster.ProcessSpec{Name: "client", Main: func(ctx context.Context, env *cluster.Env) {
		for range 2 {
			l.must(env.Kube.Get(ctx, keyOf("s"), &corev1.Secret{}))
			l.say("got it")
		}
		l.must(env.Clock.Sleep(ctx, time.Hour))
	}})
	l.run(time.Second, "302: got it", "304: got it")
}

// TestAWriteThatIsCommittedLate is sealed by what its server had loaded when it was
// encoded.
func TestAWriteThatIsCommittedLate(t *testing.T) {
	l := vaulted(t, cluster.Config{APIServers: 1, Profile: cluster.Profile{Faults: []cluster.Fault{
		{Kind: "api-slow-commit", Verb: "create", Span: engine.Constant(30 * time.Second)},
	}}}, strikes("api-slow-commit/node-1/agent", 0))
	l.load(0, "ai", true)
	l.at(40*time.Second, func() { l.file(0, "bai") })
	l.agent(func(ctx context.Context, env *cluster.Env) {
		l.must(env.Clock.Sleep(ctx, 45*time.Second))
		l.say("create late: %s", result(env.Client.Create(ctx, aSecret("late"))))
		l.say("create prompt: %s", result(env.Client.Create(ctx, aSecret("prompt"))))
		l.say("stored: %s", l.stored())
		l.must(env.Clock.Sleep(ctx, time.Hour))
	})
	l.at(61*time.Second, func() { l.say("reloads: %d", l.c.Instances()[0].Encryption().Info().Succeeded) })
	l.run(2*time.Minute, "61000: reloads: 1", "75002: create late: ok", "75004: create prompt: ok", "75004: stored: late=aesgcm:a prompt=aesgcm:b")
}

// TestSealingReplays: nonces, seeds, probes and reloads come from the choices of a run.
func TestSealingReplays(t *testing.T) {
	run := func(seed uint64) (hash uint64, stored string) {
		c := cluster.New(cluster.Config{Engine: engine.Config{Source: engine.NewSeed(seed)}, Nodes: 3, APIServers: 3, Profile: cluster.Stormy()})
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		vault := kms.NewVault("kek-1")
		for i, inst := range c.Instances() {
			n := c.Nodes()[i]
			inst.Place(n)
			if err := n.Sockets().Listen(socket, kms.NewPlugin(vault, nil)); err != nil {
				t.Fatal(err)
			}
			if err := n.Disk().WriteFile(configFile, providers("kai")); err != nil {
				t.Fatal(err)
			}
			inst.SetEncryption(cluster.EncryptionFlags{ProviderConfig: configFile, AutomaticReload: true})
			inst.Stop()
			inst.Start()
		}
		c.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
			for i := 0; ; i++ {
				s := aSecret(fmt.Sprintf("s%d", i%7))
				_ = client.IgnoreAlreadyExists(env.Client.Create(ctx, s))
				if env.Client.Get(ctx, keyOf(s.Name), s) == nil {
					s.Data = map[string][]byte{"v": []byte(env.Node)}
					_ = env.Client.Update(ctx, s)
				}
				if env.Clock.Sleep(ctx, time.Second) != nil {
					return
				}
			}
		}})
		res := c.Engine().RunUntil(5 * time.Minute)
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		for _, o := range c.Store().Stored(storedSecrets) {
			stored += o.Name + " " + string(c.Store().StoredBytes(storedSecrets, o.Namespace, o.Name))
		}
		return res.Hash, stored
	}
	for seed := range uint64(5) {
		hash, stored := run(seed)
		again, restored := run(seed)
		if hash != again || stored != restored {
			t.Errorf("seed %d: hashes %x and %x, stored alike: %v", seed, hash, again, stored == restored)
		}
		if !strings.Contains(stored, "k8s:enc:kms:v2:1_secrets:") {
			t.Errorf("seed %d: nothing was sealed: %q", seed, stored)
		}
	}
}
