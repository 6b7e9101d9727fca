package table

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Object is any API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Columns is how one kind looks as a table. It does not change.
type Columns struct {
	// Head defines the columns. It is shared and read-only.
	Head []metav1.TableColumnDefinition

	cells func(obj Object, now time.Time) []any

	// conditions say more of a row; nil means that there are none.
	conditions func(obj Object) []metav1.TableRowCondition

	// mark is called for a whole list, and may change the cells of its rows.
	mark func(objects []Object, rows []metav1.TableRow)
}

// Rows are the rows of the items of a list, without their objects. Ages are
// counted to now.
func (c *Columns) Rows(items []Object, now time.Time) []metav1.TableRow {
	rows := make([]metav1.TableRow, len(items))
	for i, obj := range items {
		rows[i] = c.Row(obj, now)
	}
	if c.mark != nil {
		c.mark(items, rows)
	}
	return rows
}

// Row is the row of an object by itself, without the object.
func (c *Columns) Row(obj Object, now time.Time) metav1.TableRow {
	row := metav1.TableRow{Cells: c.cells(obj, now)}
	if c.conditions != nil {
		row.Conditions = c.conditions(obj)
	}
	return row
}

// tables are the columns of kinds, by group and kind: another version of the
// same kind looks the same.
type tables map[schema.GroupKind]*Columns

// Builtin returns the columns of a kind that every cluster has, or nil if they
// are not known.
func Builtin(kind schema.GroupKind) *Columns { return builtin()[kind] }

// builtin is made on first use: most servers never show a table.
var builtin = sync.OnceValue(func() tables {
	t := tables{}
	t.addCore()
	t.addNodes()
	t.addPods()
	t.addServices()
	t.addStorage()
	t.addWorkloads()
	t.addPolicies()
	t.addAccess()
	t.addDefinitions()
	return t
})

// Plain is the table of a kind that brings no columns.
func Plain() *Columns { return plain() }

var plain = sync.OnceValue(func() *Columns {
	return &Columns{
		Head: []metav1.TableColumnDefinition{name(), col("Created At", metaDoc("creationTimestamp")).of("date").TableColumnDefinition},
		cells: func(obj Object, _ time.Time) []any {
			return []any{obj.GetName(), timestamp(obj.GetCreationTimestamp())}
		},
	}
})

// add declares the columns of the kind whose Go type is T. An object of another
// version than T has just a name in its row, and an age if there is such a column.
func add[T Object](t tables, group, kind string, head []column, cells func(o T, now time.Time) []any) *Columns {
	c := &Columns{}
	for _, h := range head {
		c.Head = append(c.Head, h.TableColumnDefinition)
	}
	c.cells = func(obj Object, now time.Time) []any {
		if o, ok := obj.(T); ok {
			return cells(o, now)
		}
		row := make([]any, len(c.Head))
		for i := range c.Head {
			switch c.Head[i].Name {
			case "Name":
				row[i] = obj.GetName()
			case "Age":
				row[i] = age(obj, now)
			}
		}
		return row
	}
	t[schema.GroupKind{Group: group, Kind: kind}] = c
	return c
}

// column is the definition of a column while it is being made.
type column struct{ metav1.TableColumnDefinition }

// head puts the columns of a kind together, with its name in front.
func head(rest ...column) []column { return append([]column{{name()}}, rest...) }

func name() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metaDoc("name")}
}

func col(title, description string) column {
	return column{metav1.TableColumnDefinition{Name: title, Type: "string", Description: description}}
}

func ageCol() column { return col("Age", metaDoc("creationTimestamp")) }

// of sets the type of the column's cells.
func (c column) of(kind string) column {
	c.Type = kind
	return c
}

// wide marks a column that is shown on demand only.
func (c column) wide() column {
	c.Priority = 1
	return c
}

func metaDoc(field string) string { return metav1.ObjectMeta{}.SwaggerDoc()[field] }

// doc is what the API's documentation says about a field of T.
func doc[T interface{ SwaggerDoc() map[string]string }](field string) string {
	var t T
	return t.SwaggerDoc()[field]
}

// What cells are made of.

func age(obj metav1.Object, now time.Time) string {
	return since(obj.GetCreationTimestamp().Time, now)
}

// since is a duration as people read it: "5m", "3d4h".
func since(t, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}

func timestamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// orPointer is what p points to as text, or instead.
func orPointer[T ~string](p *T, instead string) string {
	if p == nil {
		return instead
	}
	return string(*p)
}

func deref[T any](p *T, instead T) T {
	if p == nil {
		return instead
	}
	return *p
}

// listed joins the first three of a list.
func listed(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ",") + more(len(list)-most)
	}
	return strings.Join(list, ",")
}

// distinct joins the different non-empty texts of a list in alphabetical order.
func distinct(list []string) string {
	set := map[string]bool{}
	for _, s := range list {
		if s != "" {
			set[s] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ",")
}
