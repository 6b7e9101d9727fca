package controllermanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var eventsGVR = corev1.SchemeGroupVersion.WithResource("events")

// recorder writes the Events of the controllers in a loop of its own, so that none
// of them waits for it. What is not written yet is lost in a crash.
type recorder struct {
	m       *Manager
	loop    *Loop
	pending map[string]*pendingEvent // by the name of the request
	added   uint64
	stamp   int64
	similar map[string]*similarEvents
	written map[string]*writtenEvent
	budgets map[string]*eventBudget
}

// pendingEvent is an event that is not written yet.
type pendingEvent struct {
	*corev1.Event
	correlated bool // it is known what to write
}

// source is the name under which one controller tells Events.
type source struct {
	recorder  *recorder
	component string
}

// eventRetry is how long the recorder waits when it could not reach the API.
const eventRetry = 10 * time.Second

// source returns what a controller records its Events with. The recorder is one of
// the loops only if there is somebody who uses it.
func (m *Manager) source(component string) source {
	if m.recorder == nil {
		r := &recorder{
			m: m, pending: map[string]*pendingEvent{},
			similar: map[string]*similarEvents{}, written: map[string]*writtenEvent{}, budgets: map[string]*eventBudget{},
		}
		r.loop = &Loop{Name: "event-recorder", Workers: 1, Backoff: kube.Backoff{Base: eventRetry, Max: eventRetry}, Reconcile: r.reconcile}
		m.recorder = r
	}
	return source{m.recorder, component}
}

func (s source) normal(about apiserver.Object, gvk schema.GroupVersionKind, reason, format string, args ...any) {
	s.tell(about, gvk, corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...))
}

func (s source) warning(about apiserver.Object, gvk schema.GroupVersionKind, reason, format string, args ...any) {
	s.tell(about, gvk, corev1.EventTypeWarning, reason, fmt.Sprintf(format, args...))
}

func (s source) tell(about apiserver.Object, gvk schema.GroupVersionKind, severity, reason, message string) {
	r := s.recorder
	now := r.m.now()
	ns := about.GetNamespace()
	if ns == "" {
		ns = metav1.NamespaceDefault
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	r.added++
	key := strconv.FormatUint(r.added, 10)
	r.pending[key] = &pendingEvent{Event: &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: r.name(about.GetName())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: apiVersion, Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName(),
			UID: about.GetUID(), ResourceVersion: about.GetResourceVersion(),
		},
		Type: severity, Reason: reason, Message: message, Count: 1,
		Source: corev1.EventSource{Component: s.component}, ReportingController: s.component,
		FirstTimestamp: now, LastTimestamp: now,
	}}
	r.loop.add("", key)
}

// name makes a name of the time. As a clock may stand still, no time is used twice.
func (r *recorder) name(about string) string {
	r.stamp = max(r.stamp+1, r.m.opts.Clock.Now().UnixNano())
	return fmt.Sprintf("%s.%x", about, r.stamp)
}

func (r *recorder) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ev := r.pending[req.Name]
	if ev == nil {
		return reconcile.Result{}, nil
	}
	if !ev.correlated {
		if ev.Event = r.correlate(ev.Event); ev.Event == nil {
			delete(r.pending, req.Name)
			return reconcile.Result{}, nil
		}
		ev.correlated = true
	}
	if err := r.write(ctx, ev.Event); err != nil && !answered(err) {
		return reconcile.Result{}, fmt.Errorf("write event %s/%s: %w", ev.Namespace, ev.Name, err)
	}
	delete(r.pending, req.Name) // a refusal is not argued with
	return reconcile.Result{}, nil
}

// answered reports whether the API server itself said so.
func answered(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status)
}

// write creates the event, or counts it in the one that is there.
func (r *recorder) write(ctx context.Context, ev *corev1.Event) error {
	if ev.Count > 1 {
		body, err := json.Marshal(map[string]any{"count": ev.Count, "lastTimestamp": ev.LastTimestamp, "message": ev.Message})
		if err != nil {
			return err
		}
		if err := r.m.patch(ctx, eventsGVR, ev.Namespace, ev.Name, types.StrategicMergePatchType, body); !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := r.m.create(ctx, eventsGVR, ev.DeepCopy())
	return err
}
