package registry

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Unowned returns a filter that drops the fields that a write to the object, or
// to a subresource of it, does not change whatever it says. Nobody comes to own
// them by such a write. Nil means that there are none.
func (k *Kind) Unowned(subresource string) fieldpath.Filter {
	paths := fieldpath.NewSet()
	add := func(path ...any) { paths.Insert(fieldpath.MakePathOrDie(path...)) }
	switch {
	case subresource == "ephemeralcontainers", subresource == "resize":
		return nil // what is dropped is owned for all that
	case subresource != "status" && k.Status != nil:
		add("status")
	case subresource != "status":
		return nil
	case k.Custom, k.GroupKind() == volumeAttachmentKind, k.GroupKind() == storageMigrationKind:
		add("metadata")
		add("spec")
	case k.GroupKind() == podKind:
		add("spec")
		add("metadata", "deletionTimestamp")
		add("metadata", "ownerReferences")
	default:
		add("spec")
		if k.Status.KeepLabels {
			add("metadata", "labels")
		}
	}
	return fieldpath.NewExcludeSetFilter(paths)
}

var (
	podKind              = schema.GroupKind{Kind: "Pod"}
	storageMigrationKind = schema.GroupKind{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"}
	volumeAttachmentKind = schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttachment"}
)
