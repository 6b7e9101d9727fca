package cloak

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

// onChange looks at a node's data plane whenever more may be permitted there than before.
func (s *State) onChange(look func(*node) error) func() error {
	return s.onChangeOf((*kernel.Kernel).Generation, look)
}

// onChangeOf looks at each node whose data plane has another generation of something.
func (s *State) onChangeOf(generation func(*kernel.Kernel) int, look func(*node) error) func() error {
	last := map[*node]int{}
	return func() error {
		for _, n := range s.nodes {
			g := generation(n.kernel)
			if seen, known := last[n]; known && seen == g {
				continue
			}
			last[n] = g
			if err := look(n); err != nil {
				return err
			}
		}
		return nil
	}
}

// believed looks at what a data plane believes about hosts.
func (s *State) believed(n *node) error {
	for _, a := range n.kernel.Real() {
		if !s.names.ever[a] {
			return fmt.Errorf("%s believes that %s is the address of a host, which no server that is trusted has said", n.name, a)
		}
	}
	return nil
}

// permitsNoMore looks for entries that no Secret permits, of those that syncs have seen
// since the last that succeeded, which is among them.
func (s *State) permitsNoMore(n *node) error {
	for _, e := range n.kernel.Loaded() {
		if !slices.ContainsFunc(n.views, func(view *corev1.SecretList) bool { return permits(view, &e) }) {
			return fmt.Errorf("%s swaps a placeholder for a value of %s, and may send it to %s: no Secret that it has seen says so", n.name, e.Owner, e.Rule.Hosts)
		}
	}
	return nil
}

// permits reports whether a Secret in a list permits all that an entry does.
func permits(view *corev1.SecretList, e *plane.Entry) bool {
	for i := range view.Items {
		secret := &view.Items[i]
		if client.ObjectKeyFromObject(secret) != e.Owner.NamespacedName || !protected.Enabled(secret) || !secret.DeletionTimestamp.IsZero() {
			continue
		}
		report := protected.Inspect(secret)
		return len(report.Defects()) == 0 && report.Rule.Covers(e.Rule) && bytes.Equal(secret.Data[e.Owner.Key], e.Value.Reveal())
	}
	return false
}

// holdersOf returns who holds which placeholder in a list of Secrets: keys of Secrets that
// are protected and have a shadow of their own.
func holdersOf(view *corev1.SecretList) map[placeholder.Key][]plane.Owner {
	originals := map[client.ObjectKey]*corev1.Secret{}
	for i := range view.Items {
		originals[client.ObjectKeyFromObject(&view.Items[i])] = &view.Items[i]
	}
	out := map[placeholder.Key][]plane.Owner{}
	for i := range view.Items {
		sh := &view.Items[i]
		name, _ := shadow.OwnerName(sh.Name)
		original := originals[client.ObjectKey{Namespace: sh.Namespace, Name: name}]
		if original == nil || !protected.Enabled(original) || !shadow.Owned(sh, original) {
			continue
		}
		previous := shadow.Previous(sh)
		for _, key := range slices.Sorted(maps.Keys(sh.Data)) {
			o := plane.Owner{NamespacedName: client.ObjectKeyFromObject(original), Key: key}
			for _, p := range append([]string{string(sh.Data[key])}, previous[key]...) {
				if k, ok := placeholder.KeyOf(p); ok && !slices.Contains(out[k], o) {
					out[k] = append(out[k], o)
				}
			}
		}
	}
	return out
}

// doubtfulRest looks for entries whose placeholder is that of somebody else as well, or in
// nobody's shadow, in all that syncs have seen since the last that succeeded.
func (s *State) doubtfulRest(n *node) error {
	var holders []map[placeholder.Key][]plane.Owner
	for _, view := range n.views {
		holders = append(holders, holdersOf(view))
	}
	for _, e := range n.kernel.Loaded() {
		sure := slices.ContainsFunc(holders, func(h map[placeholder.Key][]plane.Owner) bool {
			of := h[e.Key()]
			return len(of) == 1 && of[0] == e.Owner
		})
		if !sure {
			return fmt.Errorf("%s swaps the placeholder of %s, which is not that of this Secret alone", n.name, e.Owner)
		}
	}
	return nil
}

// oneProgram looks for programs that are attached twice.
func (s *State) oneProgram(n *node) error {
	programs := n.kernel.Programs()
	for _, ns := range slices.Sorted(maps.Keys(programs)) {
		if programs[ns] > 1 {
			return fmt.Errorf("on %s, %d programs are attached to network namespace %d", n.name, programs[ns], ns)
		}
	}
	return nil
}
