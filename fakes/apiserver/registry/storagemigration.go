package registry

import (
	"strings"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// storageMigrations ask a controller to write all objects of a resource anew. What is
// asked for never changes, and an end that was reached is not taken back.
var storageMigrations = &Kind{
	GroupVersionKind: storagemigrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration"),
	Names:            Names{Plural: "storageversionmigrations"},
	Cluster:          true,
	Prototype:        &storagemigrationv1.StorageVersionMigration{},
	Write:            WriteRules{PutNeedsVersion: true},
	Status:           &Status{Prepare: prepareMigrationStatus, Validate: validateMigrationStatus},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateMigration(&obj.(*storagemigrationv1.StorageVersionMigration).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		m, was := obj.(*storagemigrationv1.StorageVersionMigration), old.(*storagemigrationv1.StorageVersionMigration)
		errs := validateMigration(&m.Spec)
		if !equality.Semantic.DeepEqual(m.Spec, was.Spec) {
			shown := struct{ Resource metav1.GroupResource }{m.Spec.Resource} // as the server's own type is shown
			errs = append(errs, field.Invalid(field.NewPath("spec"), shown, apivalidation.FieldImmutableErrorMsg))
		}
		return errs
	},
}

func validateMigration(s *storagemigrationv1.StorageVersionMigrationSpec) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "resource")
	if s.Resource.Resource == "" {
		errs = append(errs, field.Required(p.Child("resource"), "resource is required to be set"))
	} else if wrong := validation.IsDNS1035Label(s.Resource.Resource); len(wrong) > 0 {
		errs = append(errs, field.Invalid(p.Child("resource"), s.Resource.Resource, strings.Join(wrong, ",")))
	}
	if s.Resource.Group != "" {
		if wrong := validation.IsDNS1123Subdomain(s.Resource.Group); len(wrong) > 0 {
			errs = append(errs, field.Invalid(p.Child("group"), s.Resource.Group, strings.Join(wrong, ",")))
		}
	}
	return errs
}

// prepareMigrationStatus takes nothing but the status.
func prepareMigrationStatus(_ *Context, obj, old Object) {
	m, was := obj.(*storagemigrationv1.StorageVersionMigration), old.(*storagemigrationv1.StorageVersionMigration)
	m.Spec = was.Spec
	metav1.ResetObjectMetaForStatus(&m.ObjectMeta, &was.ObjectMeta)
}

func validateMigrationStatus(_ *Context, obj, old Object) field.ErrorList {
	s, was := &obj.(*storagemigrationv1.StorageVersionMigration).Status, &old.(*storagemigrationv1.StorageVersionMigration).Status
	var errs field.ErrorList
	p := field.NewPath("status")
	if s.ResourceVersion != "" {
		if _, err := resourceversion.CompareResourceVersion(s.ResourceVersion, s.ResourceVersion); err != nil {
			errs = append(errs, field.Invalid(p.Child("resourceVersion"), s.ResourceVersion, err.Error()))
		}
	}
	errs = append(errs, unversioned.ValidateConditions(s.Conditions, p.Child("conditions"))...)
	if was.ResourceVersion != "" && was.ResourceVersion != s.ResourceVersion {
		errs = append(errs, field.Invalid(p.Child("resourceVersion"), s.ResourceVersion, apivalidation.FieldImmutableErrorMsg))
	}
	succeeded, failed := string(storagemigrationv1.MigrationSucceeded), string(storagemigrationv1.MigrationFailed)
	done := func(s *storagemigrationv1.StorageVersionMigrationStatus, condition string) bool {
		return meta.IsStatusConditionTrue(s.Conditions, condition)
	}
	refuse := func(detail string) { errs = append(errs, field.Invalid(p.Child("conditions"), s.Conditions, detail)) }
	if done(s, succeeded) && done(s, failed) {
		refuse("Both success and failed conditions cannot be true at the same time")
	}
	if done(was, succeeded) && !done(s, succeeded) {
		refuse("Success condition cannot be set to false once it is true")
	}
	if done(was, failed) && !done(s, failed) {
		refuse("Failed condition cannot be set to false once it is true")
	}
	return errs
}
