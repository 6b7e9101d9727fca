package secretsync

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// Problem is why a value, or a whole Secret, is not loaded.
type Problem struct {
	Secret  *corev1.Secret
	Reason  string
	Message string
}

// Reasons of problems beside those of package protected.
const (
	StalePlaceholder     = "StalePlaceholder"
	DuplicatePlaceholder = "DuplicatePlaceholder"
	MapFull              = "MapFull"
	NoVirtualIP          = "NoVirtualIP"
)

// Desired returns what is to be loaded for these Secrets, in the order of keys:
//
//  1. of each Secret that is enabled and has a shadow of its own, each key that both
//     have, with the rule of the Secret;
//  2. besides, the placeholders of before, which are good outside of HPACK;
//  3. nothing of a Secret whose rule cannot be read, or of which a value cannot be
//     protected;
//  4. no placeholder that does not fit its value: the shadow is behind;
//  5. none whose lookup key another key has too, in any shadow of a Secret that is
//     enabled, whoever had it first and whether or not it fits there.
func Desired(secrets []corev1.Secret) ([]plane.Entry, []Problem) {
	byName := named(secrets)
	var entries []plane.Entry
	var problems []Problem
	holders := map[placeholder.Key][]plane.Owner{}
	for i := range secrets {
		s := &secrets[i]
		if !protected.Enabled(s) || !s.DeletionTimestamp.IsZero() {
			continue
		}
		sh := byName[types.NamespacedName{Namespace: s.Namespace, Name: shadow.NameOf(s.Name)}]
		if sh == nil || !shadow.Owned(sh, s) || !sh.DeletionTimestamp.IsZero() {
			continue // there is none yet, and its condition says why
		}
		hold(holders, s, sh)
		of, wrong := entriesOf(s, sh)
		entries, problems = append(entries, of...), append(problems, wrong...)
	}
	entries, shared := apart(entries, holders, byName)
	slices.SortFunc(entries, byKey)
	return entries, append(problems, shared...)
}

// known returns the Secrets that have a shadow of their own, be they loaded or not.
func known(secrets []corev1.Secret) map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	byName := named(secrets)
	for _, name := range slices.SortedFunc(maps.Keys(byName), compareNames) {
		s := byName[name]
		sh := byName[types.NamespacedName{Namespace: name.Namespace, Name: shadow.NameOf(name.Name)}]
		if sh != nil && shadow.Owned(sh, s) {
			names[name] = true
		}
	}
	return names
}

func compareNames(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

func named(secrets []corev1.Secret) map[types.NamespacedName]*corev1.Secret {
	byName := map[types.NamespacedName]*corev1.Secret{}
	for i := range secrets {
		byName[client.ObjectKeyFromObject(&secrets[i])] = &secrets[i]
	}
	return byName
}

func byKey(a, b plane.Entry) int {
	return cmp.Or(a.Key().Compare(b.Key()), strings.Compare(a.Owner.String(), b.Owner.String()))
}

// entriesOf returns the entries of one Secret.
func entriesOf(s, sh *corev1.Secret) (entries []plane.Entry, problems []Problem) {
	report := protected.Inspect(s)
	if defects := report.Defects(); len(defects) > 0 {
		return nil, []Problem{{s, string(defects[0].Reason), protected.Text(defects)}}
	}
	previous := shadow.Previous(sh)
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		current, there := sh.Data[key]
		if !there {
			continue // the shadow gets it soon
		}
		value := s.Data[key]
		if placeholder.Fits(string(current), value) == placeholder.FitsNot {
			problems = append(problems, Problem{s, StalePlaceholder, fmt.Sprintf("data[%s]: the placeholder in %s does not fit the value; it is not used until there is a new one", key, sh.Name)})
			continue
		}
		for _, p := range append([]string{string(current)}, previous[key]...) {
			if placeholder.Fits(p, value) == placeholder.FitsNot {
				continue
			}
			entries = append(entries, plane.Entry{
				Owner:       plane.Owner{NamespacedName: client.ObjectKeyFromObject(s), Key: key},
				Placeholder: p, Value: secret.New(value), Rule: report.Rule,
			})
		}
	}
	return entries, problems
}

// hold notes which lookup keys a shadow has.
func hold(holders map[placeholder.Key][]plane.Owner, s, sh *corev1.Secret) {
	previous := shadow.Previous(sh)
	for _, key := range slices.Sorted(maps.Keys(sh.Data)) {
		o := plane.Owner{NamespacedName: client.ObjectKeyFromObject(s), Key: key}
		for _, p := range append([]string{string(sh.Data[key])}, previous[key]...) {
			if k, ok := placeholder.KeyOf(p); ok {
				holders[k] = append(holders[k], o)
			}
		}
	}
}

// apart drops all entries whose lookup key has more than one holder.
func apart(entries []plane.Entry, holders map[placeholder.Key][]plane.Owner, secrets map[types.NamespacedName]*corev1.Secret) (kept []plane.Entry, problems []Problem) {
	for i := range entries {
		e := &entries[i]
		owners := holders[e.Key()]
		if len(owners) == 1 {
			kept = append(kept, *e)
			continue
		}
		problems = append(problems, Problem{secrets[e.Owner.NamespacedName], DuplicatePlaceholder, fmt.Sprintf(
			"data[%s]: its placeholder has the lookup key of another; neither is used until one has a new placeholder", e.Owner.Key)})
	}
	return kept, problems
}
