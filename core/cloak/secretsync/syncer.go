package secretsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/serial"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Config is what a Syncer needs.
type Config struct {
	// Cache lists Secrets. It must have synced.
	Cache kube.Reader

	Plane    plane.Secrets
	Clock    clock.Clock
	VIPs     virtualip.Config
	Recorder cloak.Recorder
	Log      logr.Logger
}

// Syncer is the one writer of a data plane's secrets, grants and virtual IPs. Its calls
// wait for each other.
type Syncer struct {
	Config
	lane *serial.Lanes

	// All that follows belongs to whoever is in the lane.
	uses      map[policy.Cgroup][]Use
	confirmed bool // cgroups without uses are nobody's
	loaded    []plane.Entry
	known     map[types.NamespacedName]bool // Secrets with a shadow, as the last list had them
	vips      *virtualip.Table
	told      map[told]bool
}

// told is a problem that an event was recorded for.
type told struct{ secret, reason, message string }

// New returns a Syncer.
func New(cfg Config) *Syncer {
	return &Syncer{Config: cfg, lane: serial.New(cfg.Clock), uses: map[policy.Cgroup][]Use{}}
}

// Sync makes the data plane hold what the cluster's Secrets say, in this order:
//
//  1. grants and entries that go, or that change to anything that does not permit all
//     that they did, are taken away;
//  2. hosts get their virtual IPs, and the others retain theirs;
//  3. entries that are new or have changed are loaded;
//  4. grants are added.
//
// An error ends it there, so nothing gets wider before all that gets narrower is done.
// Only an entry that finds no room, or no virtual IP, is left out and told of.
func (s *Syncer) Sync(ctx context.Context) error {
	return s.lane.Do(ctx, "", func() error { return s.sync(ctx) })
}

func (s *Syncer) sync(ctx context.Context) error {
	var list corev1.SecretList
	if err := s.Cache.List(ctx, &list); err != nil {
		return fmt.Errorf("sync secrets: list: %w", err)
	}
	s.known = known(list.Items)
	desired, problems := Desired(list.Items)
	if err := s.narrow(ctx, desired); err != nil {
		return fmt.Errorf("sync secrets: %w", err)
	}
	desired, err := s.addresses(ctx, desired, &problems, list.Items)
	if err != nil {
		return fmt.Errorf("sync secrets: %w", err)
	}
	if err := s.widen(ctx, desired, &problems, list.Items); err != nil {
		return fmt.Errorf("sync secrets: %w", err)
	}
	s.tell(problems)
	return nil
}

// narrow takes away what is not to be there any more.
func (s *Syncer) narrow(ctx context.Context, desired []plane.Entry) error {
	have, err := s.Plane.Entries(ctx)
	if err != nil {
		return err
	}
	grants, err := s.Plane.Grants(ctx)
	if err != nil {
		return err
	}
	stay := map[placeholder.Key]*plane.Entry{} // as they are loaded
	for i := range have {
		stay[have[i].Key()] = &have[i]
	}
	var gone []placeholder.Key
	wanted := map[placeholder.Key]*plane.Entry{}
	for i := range desired {
		wanted[desired[i].Key()] = &desired[i]
	}
	for i := range have {
		e, w := &have[i], wanted[have[i].Key()]
		if w == nil || w.Owner != e.Owner || w.Placeholder != e.Placeholder || !w.Rule.Covers(e.Rule) {
			gone = append(gone, e.Key())
			delete(stay, e.Key())
		}
	}
	var revoke []policy.Grant
	for _, g := range grants {
		e := stay[g.Key]
		uses, known := s.uses[g.Cgroup]
		if e == nil || known && !may(uses, e.Owner) || !known && s.confirmed {
			revoke = append(revoke, g)
		}
	}
	if len(revoke) > 0 {
		if err := s.Plane.SetACL(ctx, without(revoke, nil), nil); err != nil {
			return fmt.Errorf("revoke grants: %w", err)
		}
	}
	for _, key := range gone {
		if err := s.Plane.DeleteEntry(ctx, key); err != nil {
			return fmt.Errorf("delete entry %s: %w", key, err)
		}
	}
	s.loaded = slices.DeleteFunc(have, func(e plane.Entry) bool { return stay[e.Key()] == nil })
	return nil
}

// addresses gives hosts their virtual IPs, and returns the entries whose hosts have one.
func (s *Syncer) addresses(ctx context.Context, desired []plane.Entry, problems *[]Problem, secrets []corev1.Secret) ([]plane.Entry, error) {
	now := s.Clock.Monotonic()
	if err := s.restore(ctx, now); err != nil {
		return nil, err
	}
	referred, err := s.Plane.Referred(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for sockets: %w", err)
	}
	var hosts []string
	for i := range desired {
		for _, h := range desired[i].Rule.Hosts.List() {
			if h.Name() != "" {
				hosts = append(hosts, h.Name())
			}
		}
	}
	for _, err := range s.vips.Use(now, hosts) {
		s.Log.Error(err, "A host has no virtual IP")
	}
	s.vips.Release(now, func(r virtualip.Row) bool { return referred[r.ID()] })
	if err := s.Plane.StoreVIPs(ctx, s.vips.Rows()); err != nil {
		return nil, fmt.Errorf("store virtual IPs: %w", err)
	}
	var kept []plane.Entry
	for i := range desired {
		if host := s.without(&desired[i]); host != "" {
			*problems = append(*problems, Problem{find(secrets, desired[i].Owner), NoVirtualIP, fmt.Sprintf(
				"data[%s]: there is no virtual IP for host %s; it is not used there", desired[i].Owner.Key, host)})
			continue
		}
		kept = append(kept, desired[i])
	}
	return kept, nil
}

// without returns a host of an entry that has no virtual IP.
func (s *Syncer) without(e *plane.Entry) string {
	for _, h := range e.Rule.Hosts.List() {
		if h.Name() == "" {
			continue
		}
		if _, ok := s.vips.Host(h.Name()); !ok {
			return h.Name()
		}
	}
	return ""
}

// restore reads the virtual IPs that an agent of before has left, once.
func (s *Syncer) restore(ctx context.Context, now time.Duration) error {
	if s.vips != nil {
		return nil
	}
	rows, err := s.Plane.LoadVIPs(ctx)
	if err != nil {
		return fmt.Errorf("load virtual IPs: %w", err)
	}
	vips, dropped, err := virtualip.Restore(s.VIPs, rows, now)
	if err != nil {
		return err
	}
	for _, err := range dropped {
		s.Log.Error(err, "A virtual IP is kept from everybody")
	}
	s.vips = vips
	return nil
}

// widen loads what is new or has changed, and adds grants.
func (s *Syncer) widen(ctx context.Context, desired []plane.Entry, problems *[]Problem, secrets []corev1.Secret) error {
	have := map[placeholder.Key]plane.Entry{}
	for _, e := range s.loaded {
		have[e.Key()] = e
	}
	var failed []error
	for i := range desired {
		e := &desired[i]
		if old, ok := have[e.Key()]; ok && old.Equal(e) {
			continue
		}
		switch err := s.Plane.PutEntry(ctx, *e); {
		case err == nil:
			have[e.Key()] = *e
		case errors.Is(err, plane.ErrFull):
			*problems = append(*problems, Problem{find(secrets, e.Owner), MapFull, fmt.Sprintf(
				"data[%s]: there is no room for it on this node; its placeholder is not swapped there", e.Owner.Key)})
		default:
			failed = append(failed, fmt.Errorf("load entry of %s: %w", e.Owner, err))
		}
	}
	s.loaded = slices.SortedFunc(maps.Values(have), byKey)
	if err := errors.Join(failed...); err != nil {
		return err
	}
	grants, err := s.Plane.Grants(ctx)
	if err != nil {
		return err
	}
	var want []policy.Grant
	for _, cg := range slices.Sorted(maps.Keys(s.uses)) {
		want = append(want, grantsOf(cg, s.uses[cg], s.loaded)...)
	}
	return s.add(ctx, without(want, grants))
}

func (s *Syncer) add(ctx context.Context, grants []policy.Grant) error {
	if len(grants) == 0 {
		return nil
	}
	if err := s.Plane.SetACL(ctx, nil, grants); err != nil {
		return fmt.Errorf("add grants: %w", err)
	}
	return nil
}

func find(secrets []corev1.Secret, o plane.Owner) *corev1.Secret {
	for i := range secrets {
		if client.ObjectKeyFromObject(&secrets[i]) == o.NamespacedName {
			return &secrets[i]
		}
	}
	return &corev1.Secret{}
}

// tell records an event for each problem that the last sync did not have.
func (s *Syncer) tell(problems []Problem) {
	now := map[told]bool{}
	for _, p := range problems {
		t := told{client.ObjectKeyFromObject(p.Secret).String(), p.Reason, p.Message}
		if !s.told[t] && !now[t] {
			s.Recorder.Event(p.Secret, corev1.EventTypeWarning, p.Reason, p.Message)
		}
		now[t] = true
	}
	s.told = now
}
