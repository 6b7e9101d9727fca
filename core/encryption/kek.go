package encryption

import (
	"context"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// KEKSettleTime is how long all plugins must have given their key the same id
	// before objects are rewritten: API servers use what they were given before for up
	// to three minutes.
	KEKSettleTime = 5 * time.Minute

	// KEKPatience is how long plugins may differ before people are told.
	KEKPatience = 15 * time.Minute
)

// ReasonKeyIDUnstable is that of the condition [v1alpha1.KEKDegraded].
const ReasonKeyIDUnstable = "KMSKeyIDUnstable"

// EventKEKRotated is the reason of the event that tells that objects are rewritten
// since a plugin has rotated its key.
const EventKEKRotated = "EncryptionKMSKeyRotated"

// NewKEKController returns the controller that notices when who keeps the key of a KMS
// plugin has rotated it. Once all nodes have reported the same new id for
// [KEKSettleTime], it asks in the key's Secret for all objects to be rewritten, which
// Migration does under the same key of ours. Ids that go to and fro never settle; then
// it says that something is wrong.
func NewKEKController(c *Component) kube.Controller {
	k := &kekController{Component: c}
	r := &reconciler{Component: c, name: "EncryptionKEK", degraded: v1alpha1.KEKDegraded, sync: k.sync}
	return r.controller()
}

type kekController struct {
	*Component
	watch kekWatch

	// Times are those of the monotonic clock: what API servers do takes so long
	// whatever the other shows.

	// settled is when the id of the key was last known to be settled, or when that
	// was first looked for.
	settled time.Duration

	// sick is since when a plugin that objects are rewritten with is not well, if
	// isSick.
	sick   time.Duration
	isSick bool
}

// kekWatch remembers since when a plugin has given its key an id.
type kekWatch struct {
	key   uint64
	kek   string
	since time.Duration // on the monotonic clock
}

// see notes the id that all nodes agree on, empty for none, and reports whether it is
// another than before.
func (w *kekWatch) see(key uint64, kek string, now time.Duration) {
	if w.key != key || w.kek != kek {
		*w = kekWatch{key, kek, now}
	}
}

// settledOn returns the id if it has stood for long enough.
func (w *kekWatch) settledOn(now time.Duration) string {
	if w.kek == "" || now-w.since < KEKSettleTime {
		return ""
	}
	return w.kek
}

func (k *kekController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	if k.Reports == nil {
		return nil
	}
	v, err := k.look(ctx, policy)
	if err != nil {
		return err
	}
	if v == nil {
		out.after = ConvergenceRetry
		return nil
	}
	s := v.writer()
	if s == nil || s.key.Mode != state.KMS {
		k.watch, k.isSick = kekWatch{}, false
		return nil
	}
	reports, err := k.pluginReports(ctx, s.key.ID)
	if err != nil {
		return err
	}
	now := k.Clock.Monotonic()
	if k.watch.key != s.key.ID {
		k.settled = now
	}
	k.watch.see(s.key.ID, reports.kek, now)
	if sick := len(reports.sick) > 0; sick != k.isSick {
		k.isSick, k.sick = sick, now
	}
	next := k.next(v, s.key.KEK, now)
	if k.watch.settledOn(now) != "" {
		k.settled = now
	} else if now-k.settled > KEKPatience {
		why := reports.why
		if why == "" {
			why = fmt.Sprintf("the id changes again and again, and is %q now", reports.kek)
		}
		out.degraded = &problem{ReasonKeyIDUnstable, fmt.Sprintf("the plugin of key %d: %s", s.key.ID, why)}
	}
	if next == s.key.KEK {
		return nil
	}
	o := s.secret.DeepCopy()
	keysecret.SetKEK(o, next)
	if err := k.Live.Update(ctx, o); err != nil {
		return fmt.Errorf("write into Secret %s/%s which key of the plugin is in use: %w", o.Namespace, o.Name, err)
	}
	if next.Pending() && next.Target != s.key.KEK.Target {
		k.Recorder.Event(EventKEKRotated, fmt.Sprintf("The plugin of key %d has another key; all objects are rewritten", s.key.ID))
	}
	return nil
}

// next returns what the key's Secret should say.
func (k *kekController) next(v *view, kek state.KEK, now time.Duration) state.KEK {
	if kek.Pending() && k.isSick && now-k.sick >= KEKSettleTime {
		kek.Target = kek.Migrated // nothing can be rewritten, and another key may wait for it
	}
	id := k.watch.settledOn(now)
	if id == "" {
		return kek
	}
	if id != kek.Converged {
		kek.Converged, kek.Since = id, k.Clock.Now().Add(k.watch.since-now).UTC().Truncate(time.Second)
	}
	if id != kek.Migrated && !kek.Pending() && v.phase == state.Settled {
		kek.Target = id
	}
	return kek
}

// writer returns the Secret of the key that writes all that is to be encrypted; nil if
// there is no such key.
func (v *view) writer() *storedKey {
	var s *storedKey
	for _, gr := range v.grs {
		r := v.current.Find(gr)
		if r == nil || !r.HasWriteKey() {
			return nil
		}
		theirs := v.find(*r.Write)
		if theirs == nil || s != nil && s != theirs {
			return nil
		}
		s = theirs
	}
	return s
}
