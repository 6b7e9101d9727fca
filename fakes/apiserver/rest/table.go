package rest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
