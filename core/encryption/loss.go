package encryption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// lossMemory is how long what one API server cannot read is told of, though others
	// can: each remembers what it has read, until it is restarted.
	lossMemory = 5 * time.Minute

	// lossesTold is how many objects are told of at once.
	lossesTold = 100
)

// UnreadableObjects tells which objects cannot be read.
type UnreadableObjects interface {
	// UnreadableObjects returns names of objects of a resource that an API server finds in
	// etcd and cannot read: some of them, and none only if there is none.
	UnreadableObjects(ctx context.Context, gr schema.GroupResource) ([]string, error)
}

// NewLossController returns the controller that says which objects are lost since the
// plugins of their keys are dead, while such keys are given up. They stay where they are:
// a plugin that comes back may read them yet, and only people can know whether it will.
func NewLossController(c *Component, objects UnreadableObjects) kube.Controller {
	l := &lossController{c, objects, map[string]time.Duration{}}
	r := &reconciler{Component: c, name: "EncryptionLoss", owned: []string{v1alpha1.ObjectsLost}, sync: l.sync}
	return r.controller()
}

type lossController struct {
	*Component
	objects UnreadableObjects

	// seen is when objects could not be read last, by their names, on the monotonic clock.
	seen map[string]time.Duration
}

func (l *lossController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	if len(policy.Status.GivenUpKeys) == 0 {
		clear(l.seen)
		return nil
	}
	now := l.Clock.Monotonic()
	var failed []error
	for _, gr := range l.Provider.EncryptedGRs() {
		names, err := l.objects.UnreadableObjects(ctx, gr)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for %s that cannot be read: %w", gr, err))
		}
		for _, name := range names {
			l.seen[gr.String()+" "+name] = now
		}
	}
	maps.DeleteFunc(l.seen, func(_ string, at time.Duration) bool { return now-at > lossMemory })
	if len(l.seen) > 0 {
		out.set(v1alpha1.ObjectsLost, metav1.ConditionTrue, ReasonPluginDead, l.message(policy))
	}
	return errors.Join(failed...)
}

// message names what is lost, and says what can be done about it.
func (l *lossController) message(policy *v1alpha1.EncryptionPolicy) string {
	names := slices.Sorted(maps.Keys(l.seen))
	more := ""
	if len(names) > lossesTold {
		names, more = names[:lossesTold], ", and more"
	}
	return fmt.Sprintf("No API server can read, unless the KMS plugin of a key comes back that is given up (%s): %s%s. "+
		"Until then lists of them fail, and nothing that comes after them is rewritten. If it will not come back, delete them with the option ignoreStoreReadErrorWithClusterBreakingPotential",
		strings.Trim(fmt.Sprint(policy.Status.GivenUpKeys), "[]"), strings.Join(names, ", "), more)
}
