package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// EndsAsUndisturbed returns a build that does what build does, and says that the cluster
// ends as it does in a run in which nothing goes wrong: crashes, lost answers and the
// order of things are no reason for another end. What build does must not depend on
// choices of the run.
//
// Compared is what there is, without what API servers make up (UIDs, revisions, times,
// generated names, owners of fields), and without leases and events. Forget, unless it is
// nil, takes what else may differ out of an object, which it is given as JSON would be.
//
// It is wrong where the end is a matter of luck by design, such as where a Pod runs: have
// forget take that away.
func EndsAsUndisturbed(o sim.Options, build sim.Build, forget func(gr schema.GroupResource, object map[string]any)) sim.Build {
	var reference map[string][]string
	calm := o
	calm.Cluster.Profile = cluster.Calm()
	sim.RunSeed(calm, 0, func(w *sim.World) {
		build(w)
		there := keep(w)
		w.Finally("reference", "It is what others are compared with.", func() error {
			reference = endOf(there, forget)
			return nil
		})
	})
	return func(w *sim.World) {
		build(w)
		there := keep(w)
		w.Finally("ends-as-undisturbed", "What went wrong on the way is no reason for another end: a controller that has recovered has done what there was to do.", func() error {
			if reference == nil {
				return fmt.Errorf("the run without faults did not come to its end, so there is nothing to compare with")
			}
			if diff := cmp.Diff(reference, endOf(there, forget)); diff != "" {
				return fmt.Errorf("the end differs from that of a run without faults (-without +with):\n%s", diff)
			}
			return nil
		})
	}
}

// endOf lists what there is: contents by key, where the keys of objects with generated
// names are those that they were generated from.
func endOf(there *objects, forget func(schema.GroupResource, map[string]any)) map[string][]string {
	end := map[string][]string{}
	for _, key := range there.sorted() {
		obj := there.there[key]
		resource, _, _ := strings.Cut(key, "/")
		gr := schema.GroupResource{Group: obj.GetObjectKind().GroupVersionKind().Group, Resource: resource}
		if housekeeping(gr) {
			continue
		}
		if prefix := obj.GetGenerateName(); prefix != "" {
			key = strings.TrimSuffix(key, obj.GetName()) + prefix + "*"
		}
		end[key] = append(end[key], plain(obj, gr, forget))
	}
	for _, key := range slices.Sorted(maps.Keys(end)) {
		slices.Sort(end[key])
	}
	return end
}

// plain is an object without what API servers make up.
func plain(obj apiserver.Object, gr schema.GroupResource, forget func(schema.GroupResource, map[string]any)) string {
	var fields map[string]any
	text, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return fmt.Sprintf("cannot be encoded: %v", err)
	}
	if meta, ok := fields["metadata"].(map[string]any); ok {
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
			delete(meta, name)
		}
		if obj.GetGenerateName() != "" {
			delete(meta, "name")
		}
		owners, _ := meta["ownerReferences"].([]any)
		for _, owner := range owners {
			if ref, ok := owner.(map[string]any); ok {
				delete(ref, "uid")
			}
		}
	}
	if status, ok := fields["status"].(map[string]any); ok {
		delete(status, "observedGeneration")
	}
	timeless(fields)
	if forget != nil {
		forget(gr, fields)
	}
	text, err = json.MarshalIndent(fields, "", " ")
	if err != nil {
		return fmt.Sprintf("cannot be encoded: %v", err)
	}
	return string(text)
}

// timeless takes the times out of a value.
func timeless(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if text, ok := value[name].(string); ok && isTime(text) {
				value[name] = "a time"
				continue
			}
			timeless(value[name])
		}
	case []any:
		for _, item := range value {
			timeless(item)
		}
	}
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
