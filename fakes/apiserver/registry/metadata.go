package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadataPath = field.NewPath("metadata")

// ValidateMetadata checks the metadata of a new object. The slow, exact checks
// of the Kubernetes libraries run only if a quick look finds something unusual.
func (k *Kind) ValidateMetadata(obj Object) field.ErrorList {
	if k.plainMetadata(obj) {
		return nil
	}
	return append(apivalidation.ValidateObjectMetaAccessor(obj, !k.Cluster, k.nameFunc(), metadataPath), k.checkFinalizers(obj)...)
}

// standardFinalizers are the names that need no domain.
var standardFinalizers = map[string]bool{
	string(corev1.FinalizerKubernetes): true, metav1.FinalizerOrphanDependents: true, metav1.FinalizerDeleteDependents: true,
}

// checkFinalizers is a check that built-in kinds have beside the common ones.
func (k *Kind) checkFinalizers(obj Object) field.ErrorList {
	if k.Custom || k.LooseMetadata {
		return nil
	}
	var errs field.ErrorList
	for i, f := range obj.GetFinalizers() {
		if len(validation.IsQualifiedName(f)) == 0 && !strings.Contains(f, "/") && !standardFinalizers[f] {
			errs = append(errs, field.Invalid(metadataPath.Child("finalizers").Index(i), f, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// ValidateMetadataUpdate checks the metadata of a changed object. What has not
// changed is not looked at again.
func (k *Kind) ValidateMetadataUpdate(obj, old Object) field.ErrorList {
	var errs field.ErrorList
	if !metadataUnchanged(obj, old) && !k.plainMetadata(obj) {
		errs = append(apivalidation.ValidateObjectMetaAccessor(obj, !k.Cluster, path.ValidatePathSegmentName, metadataPath), k.checkFinalizers(obj)...)
	}
	if sameIdentity(obj, old) && (!k.Custom || len(errs) == 0) {
		return errs
	}
	changed := apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, metadataPath)
	if k.Custom && obj.GetObjectKind().GroupVersionKind().GroupKind() == k.GroupKind() { // a real server looks twice, and says so
		errs = append(errs, changed...)
	}
	return append(errs, changed...)
}

// metadataUnchanged reports whether the parts of the metadata that clients write
// are the same.
func metadataUnchanged(obj, old Object) bool {
	return sameStrings(obj.GetLabels(), old.GetLabels()) &&
		sameStrings(obj.GetAnnotations(), old.GetAnnotations()) &&
		sameList(obj.GetFinalizers(), old.GetFinalizers()) &&
		len(obj.GetOwnerReferences()) == 0 && len(obj.GetManagedFields()) == 0
}

// sameIdentity reports whether nothing has changed that may not.
func sameIdentity(obj, old Object) bool {
	return obj.GetName() == old.GetName() && obj.GetNamespace() == old.GetNamespace() && obj.GetUID() == old.GetUID() &&
		obj.GetGeneration() >= old.GetGeneration() &&
		obj.GetDeletionTimestamp() == nil && old.GetDeletionTimestamp() == nil &&
		obj.GetDeletionGracePeriodSeconds() == nil && old.GetDeletionGracePeriodSeconds() == nil &&
		sameTime(obj.GetCreationTimestamp(), old.GetCreationTimestamp())
}

func sameTime(a, b metav1.Time) bool { return a.Equal(&b) }

func sameList(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (k *Kind) nameFunc() apivalidation.ValidateNameFunc {
	if k.Naming != nil {
		return apivalidation.ValidateNameFunc(k.Naming)
	}
	if k.Custom {
		return customName
	}
	return apivalidation.NameIsDNSSubdomain
}

// customName is the rule for custom resources.
func customName(name string, prefix bool) []string {
	return apivalidation.NameIsDNSSubdomain(name, prefix)
}

// plainMetadata reports whether nothing in the metadata needs a closer look:
// short names of lower-case letters, plain labels and annotations.
func (k *Kind) plainMetadata(obj Object) bool {
	if k.Naming != nil && !plainName(obj.GetName()) || !plainSubdomain(obj.GetName()) || obj.GetGenerateName() != "" ||
		k.Cluster != (obj.GetNamespace() == "") || !k.Cluster && !plainName(obj.GetNamespace()) {
		return false
	}
	for key, value := range obj.GetLabels() {
		if !plainKey(key) || !plainValue(value) {
			return false
		}
	}
	size := 0
	for key, value := range obj.GetAnnotations() {
		if !plainKey(key) {
			return false
		}
		size += len(key) + len(value)
	}
	if size > apivalidation.TotalAnnotationSizeLimitB {
		return false
	}
	for _, f := range obj.GetFinalizers() {
		if !plainKey(f) || !k.Custom && !strings.Contains(f, "/") || f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			return false
		}
	}
	return plainOwners(obj.GetOwnerReferences()) && len(obj.GetManagedFields()) == 0 && obj.GetGeneration() >= 0
}

func plainOwners(refs []metav1.OwnerReference) bool {
	controllers := 0
	for i := range refs {
		r := &refs[i]
		if r.APIVersion == "" || strings.Count(r.APIVersion, "/") > 1 || strings.HasSuffix(r.APIVersion, "/") ||
			r.Kind == "" || r.Kind == "Event" || r.Name == "" || r.UID == "" {
			return false
		}
		if r.Controller != nil && *r.Controller {
			controllers++
		}
	}
	return controllers < 2
}

func lowerAlnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func alnum(c byte) bool { return lowerAlnum(c) || 'A' <= c && c <= 'Z' }

// plainName reports whether s is a DNS label.
func plainName(s string) bool {
	if len(s) == 0 || len(s) > 63 || !lowerAlnum(s[0]) || !lowerAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !lowerAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// plainSubdomain reports whether s is a DNS subdomain of short labels.
func plainSubdomain(s string) bool {
	for {
		label, rest, more := strings.Cut(s, ".")
		if !plainName(label) {
			return false
		}
		if !more {
			return len(s) < 100
		}
		s = rest
	}
}

// plainKey reports whether s is a label key, annotation key or finalizer.
func plainKey(s string) bool {
	if prefix, name, ok := strings.Cut(s, "/"); ok {
		return plainSubdomain(prefix) && len(prefix) < 150 && name != "" && plainValue(name)
	}
	return s != "" && plainValue(s)
}

// plainValue reports whether s is a label value.
func plainValue(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > 63 || !alnum(s[0]) || !alnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
