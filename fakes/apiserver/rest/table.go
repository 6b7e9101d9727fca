package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest/table"
)

// tableOptions say how a table is to look.
type tableOptions struct {
	columns   *table.Columns
	noHeaders bool
	include   metav1.IncludeObjectPolicy
	now       func() time.Time // ages are counted to here
	plain     bool             // the kind has no columns of its own
}

func (h *Handler) tableOptions(ctx context.Context, query url.Values, kind *apiserver.Resource, t target) (tableOptions, error) {
	var opts metav1.TableOptions
	if err := metav1.Convert_url_Values_To_v1_TableOptions(&query, &opts, nil); err != nil {
		return tableOptions{}, apierrors.NewBadRequest(err.Error())
	}
	switch opts.IncludeObject {
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject, "":
	default:
		return tableOptions{}, apierrors.NewBadRequest(fmt.Sprintf(
			"Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty",
			opts.IncludeObject))
	}
	columns, err := h.columns(ctx, kind, t.subresource)
	plain := !kind.Custom && t.subresource == "" && table.Builtin(kind.GVK().GroupKind()) == nil
	return tableOptions{columns: columns, include: opts.IncludeObject, now: h.clock.Now, plain: plain}, err
}

// columns finds the columns of what a request is about.
func (h *Handler) columns(ctx context.Context, kind *apiserver.Resource, subresource string) (*table.Columns, error) {
	gk := kind.GVK().GroupKind()
	switch {
	case subresource == "scale":
		gk = schema.GroupKind{Group: "autoscaling", Kind: "Scale"}
	case kind.Custom:
		definition, err := h.definition(ctx, kind)
		if err != nil {
			return nil, err
		}
		return table.Custom(declared(definition, kind.Version))
	}
	if c := table.Builtin(gk); c != nil {
		return c, nil
	}
	return table.Plain(), nil
}

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// definition finds what defines a custom resource; nil if it was not defined
// through the API.
func (h *Handler) definition(ctx context.Context, kind *apiserver.Resource) (*apiextensionsv1.CustomResourceDefinition, error) {
	var response *apiserver.Response
	var err error
	gone := h.gate(ctx, func() {
		response, err = h.server.Do(&apiserver.Request{
			Verb: apiserver.Get, Resource: definitions, Name: kind.Plural + "." + kind.Group, Shared: true,
		})
	})
	switch {
	case gone != nil:
		return nil, errGone(gone)
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	definition, _ := response.Object.(*apiextensionsv1.CustomResourceDefinition)
	return definition, nil
}

// declared are the columns that a definition declares for a version.
func declared(definition *apiextensionsv1.CustomResourceDefinition, version string) []apiextensionsv1.CustomResourceColumnDefinition {
	if definition == nil {
		return nil
	}
	for i := range definition.Spec.Versions {
		if v := &definition.Spec.Versions[i]; v.Name == version {
			return v.AdditionalPrinterColumns
		}
	}
	return nil
}

// tableOf is the JSON of the items of a list as a table.
func (e *encoder) tableOf(items []apiserver.Object, list metav1.ListMeta) ([]byte, error) {
	objects := make([]table.Object, len(items))
	for i, obj := range items {
		objects[i] = obj
	}
	rows := e.table.columns.Rows(objects, e.table.now())
	if len(rows) == 0 && e.table.plain {
		rows = nil // so a real server says it
	}
	return e.tableWith(rows, items, list)
}

// tableOfOne is the JSON of a single object as a table.
func (e *encoder) tableOfOne(obj apiserver.Object) ([]byte, error) {
	rows := []metav1.TableRow{e.table.columns.Row(obj, e.table.now())}
	return e.tableWith(rows, []apiserver.Object{obj}, metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()})
}

func (e *encoder) tableWith(rows []metav1.TableRow, objects []apiserver.Object, list metav1.ListMeta) ([]byte, error) {
	out := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: asTable, APIVersion: e.format.convert.GroupVersion().String()},
		ListMeta: list,
		Rows:     rows,
	}
	if !e.table.noHeaders {
		out.ColumnDefinitions = e.table.columns.Head
	}
	for i, obj := range objects {
		raw, err := e.rowObject(obj)
		if err != nil {
			return nil, err
		}
		rows[i].Object = runtime.RawExtension{Raw: raw}
	}
	return json.Marshal(&out)
}

// rowObject is what a row carries along: the metadata unless asked otherwise. The
// bookmark that ends the initial events is known by its metadata only, so it
// keeps them.
func (e *encoder) rowObject(obj apiserver.Object) ([]byte, error) {
	switch {
	case e.table.include == metav1.IncludeObject:
		return e.wholeJSON(obj)
	case e.table.include == metav1.IncludeNone && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true":
		return nil, nil
	}
	return e.metadata(obj)
}
