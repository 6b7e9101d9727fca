package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

func (t tables) addDefinitions() {
	add(t, apiextensionsv1.GroupName, "CustomResourceDefinition", head(
		col("Scope", "Cluster/Namespaced"),
		col("Versions", "Served versions"),
		col("Created At", metaDoc("creationTimestamp")).of("date"),
		col("Group", "API group").wide(),
		col("Kind", "CustomResource kind").wide(),
		col("ShortNames", "Short names").wide(),
		col("Established", "Established status").of("boolean").wide(),
	), definitionRow)
}

func definitionRow(o *apiextensionsv1.CustomResourceDefinition, _ time.Time) []any {
	var versions []string
	for i := range o.Spec.Versions {
		v := &o.Spec.Versions[i]
		switch {
		case v.Served && v.Storage:
			versions = append(versions, v.Name+"(storage)")
		case v.Served:
			versions = append(versions, v.Name)
		}
	}
	slices.Sort(versions)
	established := slices.ContainsFunc(o.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	return []any{
		o.Name, string(o.Spec.Scope), strings.Join(versions, ","), timestamp(o.CreationTimestamp), o.Spec.Group,
		o.Spec.Names.Kind, strings.Join(o.Spec.Names.ShortNames, ","), established,
	}
}

// defaultColumns are those of custom resources whose definition names none.
func defaultColumns() []apiextensionsv1.CustomResourceColumnDefinition {
	return []apiextensionsv1.CustomResourceColumnDefinition{{
		Name: "Age", Type: "date", Description: metaDoc("creationTimestamp"), JSONPath: ".metadata.creationTimestamp",
	}}
}

// Custom returns the table of a custom resource with these additional columns;
// none means an age. It fails if a path cannot be read.
func Custom(additional []apiextensionsv1.CustomResourceColumnDefinition) (*Columns, error) {
	if len(additional) == 0 {
		additional = defaultColumns()
	}
	c := &Columns{Head: []metav1.TableColumnDefinition{name()}}
	var paths []*jsonpath.JSONPath
	for _, a := range additional {
		path := jsonpath.New(a.Name)
		if err := path.Parse("{" + a.JSONPath + "}"); err != nil {
			return nil, fmt.Errorf("column %q: unrecognized path %q: %w", a.Name, a.JSONPath, err)
		}
		paths = append(paths, path.AllowMissingKeys(true))
		c.Head = append(c.Head, metav1.TableColumnDefinition{
			Name: a.Name, Type: a.Type, Format: a.Format, Priority: a.Priority,
			Description: or(a.Description, "Custom resource definition column (in JSONPath format): "+a.JSONPath),
		})
	}
	c.cells = func(obj Object, now time.Time) []any {
		row := []any{obj.GetName()}
		content, err := contentOf(obj)
		for i, path := range paths {
			var cell any
			if err == nil {
				cell = found(path, c.Head[i+1].Type, content, now)
			}
			row = append(row, cell)
		}
		return row
	}
	return c, nil
}

func contentOf(obj Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// found is the first of what a path leads to; nil if that is nothing, or not of
// the column's type.
func found(path *jsonpath.JSONPath, kind string, content map[string]any, now time.Time) any {
	results, err := path.FindResults(content)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	value := results[0][0].Interface()
	if kind != "string" {
		return cell(kind, value, now)
	}
	var text bytes.Buffer
	if err := path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
		return nil
	}
	return text.String()
}

func cell(kind string, value any, now time.Time) any {
	switch kind {
	case "integer":
		switch v := value.(type) {
		case int64:
			return v
		case float64:
			return int64(v)
		case json.Number:
			if n, err := v.Int64(); err == nil {
				return n
			}
		}
	case "number":
		switch v := value.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		case json.Number:
			if f, err := v.Float64(); err == nil {
				return f
			}
		}
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		if s, ok := value.(string); ok {
			var t metav1.Time
			if t.UnmarshalQueryParameter(s) != nil {
				return "<invalid>"
			}
			return since(t.Time, now)
		}
	}
	return nil
}
