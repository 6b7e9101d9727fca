package serve_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// replica is one of several managers of which one has the lead.
type replica struct {
	name  string
	stop  context.CancelFunc
	ended chan error
}

// The lease is short, so that it soon runs out, but not so short that a busy machine
// loses it.
const (
	leaseDuration = 4 * time.Second
	renewDeadline = 3500 * time.Millisecond
	retryPeriod   = 100 * time.Millisecond
)

// run starts a manager with one controller: for each ConfigMap with the label copy it
// keeps a Secret of the same name, and writes who made it. It is ordinary code.
func run(t *testing.T, config *restclient.Config, name string, release bool) *replica {
	t.Helper()
	options := managerOptions
	options.LeaderElectionReleaseOnCancel = release
	m, err := manager.New(restclient.CopyConfig(config), options)
	if err != nil {
		t.Fatal(err)
	}
	err = builder.ControllerManagedBy(m).Named("copier").For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, copyInto(ctx, m.GetClient(), req.NamespacedName, name)
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &replica{name: name, stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- m.Start(ctx) }()
	t.Cleanup(func() { r.end(t) })
	return r
}

var (
	yes            = true
	lease, renew   = leaseDuration, renewDeadline
	retry          = retryPeriod
	managerOptions = manager.Options{
		Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: &yes}, // two in one process
		LeaderElection: true, LeaderElectionID: "copier", LeaderElectionNamespace: "default",
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	}
)

// copyInto is the reconciler.
func copyInto(ctx context.Context, c client.Client, key client.ObjectKey, by string) error {
	var from corev1.ConfigMap
	if err := c.Get(ctx, key, &from); err != nil {
		return client.IgnoreNotFound(err)
	}
	if _, wanted := from.Labels["copy"]; !wanted {
		return nil
	}
	into := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, c, into, func() error {
		if into.Annotations == nil {
			into.Annotations = map[string]string{"by": by}
		}
		into.StringData = from.Data
		return controllerutil.SetControllerReference(&from, into, c.Scheme())
	})
	return err
}

// end stops the replica.
func (r *replica) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err, running := <-r.ended:
		if running {
			close(r.ended)
		}
		if err != nil {
			t.Errorf("manager %s: %v", r.name, err)
		}
	case <-time.After(patience):
		t.Errorf("manager %s does not end", r.name)
	}
}

// Two replicas of an unmodified manager of controller-runtime: one of them leads and
// works, and when it stops the other takes over, at once or when the lease has run
// out.
func TestManagersTakeOver(t *testing.T) {
	for _, test := range []struct {
		name    string
		release bool
	}{{"the lease is released", true}, {"the lease runs out", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := start(t, 0).Config()
			client := kubernetes.NewForConfigOrDie(config)
			first := run(t, config, "first", test.release)
			copied(t, client, "a", "first")
			second := run(t, config, "second", test.release)
			copied(t, client, "b", "first") // there is one leader
			first.end(t)
			copied(t, client, "c", "second")

			lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "copier", metav1.GetOptions{})
			if err != nil || *lease.Spec.LeaseTransitions == 0 {
				t.Errorf("the lease after a change of the lead: %v, %v", lease.Spec, err)
			}
			if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the copy is collected with its original", func(ctx context.Context) (bool, error) {
				_, err := client.CoreV1().Secrets("default").Get(ctx, "a", metav1.GetOptions{})
				return apierrors.IsNotFound(err), ignoreNotFound(err)
			})
			second.end(t)
		})
	}
}

// copied makes a ConfigMap and waits for its copy, by that replica.
func copied(t *testing.T, c kubernetes.Interface, name, by string) {
	t.Helper()
	from := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"copy": "yes"}}, Data: map[string]string{"k": name},
	}
	if _, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), from, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var into *corev1.Secret
	eventually(t, "the copy of "+name+" is made", func(ctx context.Context) (done bool, err error) {
		into, err = c.CoreV1().Secrets("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	if into.Annotations["by"] != by || string(into.Data["k"]) != name {
		t.Errorf("the copy of %s is by %s and holds %s, want one by %s", name, into.Annotations["by"], into.Data["k"], by)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
