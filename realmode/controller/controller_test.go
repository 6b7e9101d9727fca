package controller_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/realmode/controller"
)

// TestPartsThatNeedNoCustomKinds: with no more than their Roles, the key of gossip comes to
// be, and the shadow of a protected Secret.
func TestPartsThatNeedNoCustomKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		cfg := w.config("only")
		cfg.Gossip, cfg.Shadows = &controller.Gossip{Namespace: controller.GossipNamespace}, true
		w.bind(cfg)
		p, stop := w.start(cfg)
		w.within(time.Minute, "there is a gossip key", func() bool {
			s, err := w.secret(controller.GossipNamespace, gossipkeys.SecretName)
			return err == nil && len(s.Data[gossipkeys.DataKey]) > 0
		})
		w.create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "db", Labels: map[string]string{cloak.AnnotationSecretEnabled: "true"}, Annotations: map[string]string{cloak.AnnotationHosts: "db.example.com"}},
			Data:       map[string][]byte{"password": []byte("a value that is long enough to be protected")},
		})
		w.within(time.Minute, "the Secret has a shadow", func() bool {
			s, err := w.secret("app", "db"+cloak.ShadowSecretSuffix)
			return err == nil && len(s.Data["password"]) > 0 && !bytes.Contains(s.Data["password"], []byte("a value"))
		})
		w.within(time.Minute, "an Event tells so", func() bool {
			events := &corev1.EventList{}
			w.must(w.admin.List(t.Context(), events, client.InNamespace("app")))
			return slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.Name == "db" && e.Reason == "Protected" })
		})
		if p.Ready() != nil || !p.Leads() || p.Epoch() != 1 {
			t.Errorf("ready %v, leads %t, epoch %d", p.Ready(), p.Leads(), p.Epoch())
		}
		if err := stop(); err != nil {
			t.Errorf("it ends with %v", err)
		}
		if len(w.refused) > 0 {
			t.Errorf("it tried what it may not: %s", strings.Join(w.refused, ", "))
		}
	})
}
