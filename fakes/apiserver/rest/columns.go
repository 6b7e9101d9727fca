package rest

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// columns is how one kind looks as a table.
type columns struct {
	head []metav1.TableColumnDefinition
	row  func(obj apiserver.Object, now time.Time) []any
}

// tables are the kinds whose columns are known; the others show name and
// creation time, as a real server does for resources that bring no columns.
var tables = map[schema.GroupKind]columns{}

var plainTable = columns{
	head: []metav1.TableColumnDefinition{
		define("Name"),
		{Name: "Created At", Type: "date", Description: describe["creationTimestamp"]},
	},
	row: func(obj apiserver.Object, _ time.Time) []any {
		return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	},
}

// declare adds the table of one Go type. The names of its columns are separated
// by bars; a plus in front of one marks it as shown on demand only.
func declare[T apiserver.Object](group, kind, names string, row func(obj T, now time.Time) []any) {
	c := columns{row: func(obj apiserver.Object, now time.Time) []any {
		if typed, ok := obj.(T); ok {
			return row(typed, now)
		}
		return []any{obj.GetName()}
	}}
	for _, name := range strings.Split(names, "|") {
		c.head = append(c.head, define(name))
	}
	tables[schema.GroupKind{Group: group, Kind: kind}] = c
}

var describe = metav1.ObjectMeta{}.SwaggerDoc()

func define(name string) metav1.TableColumnDefinition {
	var def metav1.TableColumnDefinition
	if onDemand, ok := strings.CutPrefix(name, "+"); ok {
		name, def.Priority = onDemand, 1
	}
	def.Name, def.Type, def.Description = name, "string", name
	switch name {
	case "Name":
		def.Format, def.Description = "name", describe["name"]
	case "Age":
		def.Description = describe["creationTimestamp"]
	}
	return def
}

func age(obj apiserver.Object, now time.Time) string {
	return since(obj.GetCreationTimestamp().Time, now)
}

// since is a duration as people read it: "5m", "3d4h".
func since(t, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
