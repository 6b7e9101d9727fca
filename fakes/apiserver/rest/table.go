package rest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// tableOptions are the query parameters of a table.
type tableOptions struct {
	noHeaders bool
	include   metav1.IncludeObjectPolicy
	now       time.Time // ages are counted to here
}

func readTableOptions(query url.Values, now time.Time) (tableOptions, error) {
	var opts metav1.TableOptions
	if err := metav1.Convert_url_Values_To_v1_TableOptions(&query, &opts, nil); err != nil {
		return tableOptions{}, apierrors.NewBadRequest(err.Error())
	}
	switch opts.IncludeObject {
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject, "":
		return tableOptions{include: opts.IncludeObject, now: now}, nil
	}
	return tableOptions{}, apierrors.NewBadRequest(fmt.Sprintf(
		"Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty",
		opts.IncludeObject))
}

// columns is how one kind looks as a table.
type columns struct {
	head []metav1.TableColumnDefinition
	row  func(obj apiserver.Object, now time.Time) []any
}

// tables are the kinds whose columns are known; the others show name and
// creation time, as a real server does for resources that bring no columns.
var tables = map[schema.GroupKind]columns{
	{Kind: "ConfigMap"}: {
		head: []metav1.TableColumnDefinition{nameColumn, column("Data", "string"), ageColumn},
		row: func(obj apiserver.Object, now time.Time) []any {
			n := 0
			if cm, ok := obj.(*corev1.ConfigMap); ok {
				n = len(cm.Data) + len(cm.BinaryData)
			}
			return []any{obj.GetName(), n, age(obj, now)}
		},
	},
	{Kind: "Secret"}: {
		head: []metav1.TableColumnDefinition{nameColumn, column("Type", "string"), column("Data", "string"), ageColumn},
		row: func(obj apiserver.Object, now time.Time) []any {
			kind, n := "", 0
			if s, ok := obj.(*corev1.Secret); ok {
				kind, n = string(s.Type), len(s.Data)
			}
			return []any{obj.GetName(), kind, n, age(obj, now)}
		},
	},
}

var plainTable = columns{
	head: []metav1.TableColumnDefinition{nameColumn, {
		Name: "Created At", Type: "date", Description: describe["creationTimestamp"],
	}},
	row: func(obj apiserver.Object, _ time.Time) []any {
		return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	},
}

var (
	describe   = metav1.ObjectMeta{}.SwaggerDoc()
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: describe["name"]}
	ageColumn  = metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: describe["creationTimestamp"]}
)

func column(name, kind string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: kind, Description: name}
}

func age(obj apiserver.Object, now time.Time) string {
	created := obj.GetCreationTimestamp()
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(created.Time))
}

// tableOf is the JSON of objects as a table.
func (e *encoder) tableOf(objects []apiserver.Object, list metav1.ListMeta) ([]byte, error) {
	cols, known := tables[e.kind.GroupKind()]
	if !known {
		cols = plainTable
	}
	table := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: asTable, APIVersion: e.format.version},
		ListMeta: list,
		Rows:     make([]metav1.TableRow, 0, len(objects)),
	}
	if !e.table.noHeaders {
		table.ColumnDefinitions = cols.head
	}
	for _, obj := range objects {
		row := metav1.TableRow{Cells: cols.row(obj, e.table.now)}
		raw, err := e.rowObject(obj)
		if err != nil {
			return nil, err
		}
		row.Object = runtime.RawExtension{Raw: raw}
		table.Rows = append(table.Rows, row)
	}
	return json.Marshal(&table)
}

// rowObject is what a row carries along: the metadata unless asked otherwise.
func (e *encoder) rowObject(obj apiserver.Object) ([]byte, error) {
	switch e.table.include {
	case metav1.IncludeNone:
		return nil, nil
	case metav1.IncludeObject:
		return e.whole(obj)
	}
	return e.metadata(obj)
}
