package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// kinds finds the API kinds that a scenario names by a single word.
type kinds struct {
	scheme *runtime.Scheme
	store  *apiserver.Store // which serves them, and nothing else
	byName map[string]objectKind
	byKind map[schema.GroupVersionKind]objectKind
	sorted []string
}

// objectKind is one kind and how its objects are addressed.
type objectKind struct {
	GVK       schema.GroupVersionKind
	GVR       schema.GroupVersionResource
	served    bool // by every API server of the scenario
	clustered bool // lives in no namespace
}

// newKinds lists the kinds that store serves. Where several groups have a kind of
// one name, the core group wins, then apps, then other built-in ones, then the
// first in the alphabet; within a group the version that is preferred wins.
func newKinds(scheme *runtime.Scheme, store *apiserver.Store) *kinds {
	k := &kinds{scheme: scheme, store: store, byName: map[string]objectKind{}, byKind: map[schema.GroupVersionKind]objectKind{}}
	resources := store.Resources()
	versions := scheme.PrioritizedVersionsAllGroups()
	slices.SortStableFunc(resources, func(a, b apiserver.Resource) int {
		return cmp.Or(
			cmp.Compare(groupRank(a), groupRank(b)),
			cmp.Compare(a.Group, b.Group),
			cmp.Compare(slices.Index(versions, a.GVK().GroupVersion()), slices.Index(versions, b.GVK().GroupVersion())),
			version.CompareKubeAwareVersionStrings(b.Version, a.Version),
		)
	})
	for _, r := range resources {
		kind := objectKind{GVK: r.GVK(), GVR: r.GVR(), served: true, clustered: !r.Namespaced}
		k.byKind[kind.GVK] = kind
		if _, known := k.byName[r.Kind]; !known {
			k.byName[r.Kind] = kind
		}
	}
	k.sorted = slices.Sorted(maps.Keys(k.byName))
	return k
}

func groupRank(r apiserver.Resource) int {
	switch {
	case r.Custom:
		return 3
	case r.Group == "":
		return 0
	case r.Group == "apps":
		return 1
	}
	return 2
}

// lookup finds a kind by its name (Secret) or in full (v1/Secret,
// example.com/v1/Widget). A kind in full need not be known: custom resources
// are objects as any other.
func (k *kinds) lookup(text string) (objectKind, bool) {
	slash := strings.LastIndexByte(text, '/')
	if slash < 0 {
		kind, ok := k.byName[text]
		return kind, ok
	}
	gv, err := schema.ParseGroupVersion(text[:slash])
	if err != nil || text[slash+1:] == "" || gv.Version == "" {
		return objectKind{}, false
	}
	return k.of(gv.WithKind(text[slash+1:])), true
}

// of describes a kind given in full. A kind that is not known is taken for a
// custom resource with the usual plural.
func (k *kinds) of(gvk schema.GroupVersionKind) objectKind {
	if kind, ok := k.byKind[gvk]; ok {
		return kind
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return objectKind{GVK: gvk, GVR: plural}
}

func (k *kinds) names() []string { return k.sorted }

// checkName refuses a name that cannot address an object of the kind.
func (k objectKind) checkName(text string) error {
	namespace, name, namespaced := strings.Cut(text, "/")
	switch {
	case strings.Count(text, "/") > 1 || name == "" && namespaced || namespace == "":
		return fmt.Errorf("%q is not a name; write namespace/name", text)
	case k.clustered && namespaced:
		return fmt.Errorf("a %s lives in no namespace; write %q", k.GVK.Kind, name)
	case k.served && !k.clustered && !namespaced:
		return fmt.Errorf("a %s lives in a namespace; write \"namespace/%s\"", k.GVK.Kind, text)
	}
	return nil
}

// splitName returns namespace and name of "namespace/name" or "name".
func splitName(text string) (namespace, name string) {
	if before, after, ok := strings.Cut(text, "/"); ok {
		return before, after
	}
	return "", text
}
