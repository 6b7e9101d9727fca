package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds finds the API kinds that a scenario names by a single word.
type kinds struct {
	scheme *runtime.Scheme
	byName map[string]objectKind
	sorted []string
}

// objectKind is one kind and how its objects are addressed.
type objectKind struct {
	GVK       schema.GroupVersionKind
	GVR       schema.GroupVersionResource
	inScheme  bool
	clustered bool
}

// clusterScoped lists the built-in kinds that live outside namespaces.
var clusterScoped = []string{
	"APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ComponentStatus", "CSIDriver", "CSINode",
	"CustomResourceDefinition", "DeviceClass", "FlowSchema", "IngressClass", "IPAddress", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
	"PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "ServiceCIDR", "StorageClass", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
}

// newKinds reads the kinds of a scheme. Where several groups have a kind of one
// name, the core group wins, then apps, then the first in the alphabet; within
// a group the preferred version wins.
func newKinds(scheme *runtime.Scheme) *kinds {
	k := &kinds{scheme: scheme, byName: map[string]objectKind{}}
	groups := map[string]int{}
	for _, gv := range scheme.PrioritizedVersionsAllGroups() {
		if _, seen := groups[gv.Group]; !seen {
			groups[gv.Group] = len(groups)
		}
	}
	ordered := scheme.PrioritizedVersionsAllGroups()
	slices.SortStableFunc(ordered, func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(groupRank(a.Group), groupRank(b.Group)), cmp.Compare(a.Group, b.Group))
	})
	for _, gv := range ordered {
		for name := range scheme.KnownTypes(gv) { // each name is looked up, never listed in this order
			_, known := k.byName[name]
			_, isObject := scheme.AllKnownTypes()[gv.WithKind(name+"List")]
			if known || !isObject {
				continue
			}
			k.byName[name] = newObjectKind(gv.WithKind(name), true)
		}
	}
	for name := range k.byName {
		k.sorted = append(k.sorted, name)
	}
	slices.Sort(k.sorted)
	return k
}

func groupRank(group string) int {
	switch group {
	case "":
		return 0
	case "apps":
		return 1
	case "extensions":
		return 3
	}
	return 2
}

func newObjectKind(gvk schema.GroupVersionKind, inScheme bool) objectKind {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	clustered := slices.Contains(clusterScoped, gvk.Kind)
	return objectKind{GVK: gvk, GVR: plural, inScheme: inScheme, clustered: inScheme && clustered}
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

// of describes a kind given in full.
func (k *kinds) of(gvk schema.GroupVersionKind) objectKind {
	return newObjectKind(gvk, k.scheme.Recognizes(gvk))
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
	case k.inScheme && !k.clustered && !namespaced:
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
