package table

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// recordedTable is how a real server showed one resource.
type recordedTable struct {
	Kind    string
	Columns []metav1.TableColumnDefinition
	Rows    []struct {
		Cells      []any
		Conditions []metav1.TableRowCondition
		Object     json.RawMessage
	}
}

// unknown are kinds that no fake server serves. Neither is the old version of
// autoscalers, which carries half of its content in annotations.
var unknown = map[string]bool{
	"CSIStorageCapacity": true, "VolumeAttributesClass": true, "MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true,
}

// TestTablesAgreeWithTheRealServer shows the objects that a real server showed.
func TestTablesAgreeWithTheRealServer(t *testing.T) {
	data, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]recordedTable
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for resource, want := range recorded {
		gv, err := schema.ParseGroupVersion(resource[:strings.LastIndexByte(resource, '/')])
		if err != nil {
			t.Fatal(err)
		}
		columns := Builtin(gv.WithKind(want.Kind).GroupKind())
		if columns == nil {
			columns = Plain()
		}
		if unknown[want.Kind] || resource == "autoscaling/v1/horizontalpodautoscalers" {
			continue
		}
		if diff := cmp.Diff(want.Columns, columns.Head); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", resource, diff)
		}
		var objects []Object
		for _, row := range want.Rows {
			objects = append(objects, decode(t, gv.WithKind(want.Kind), row.Object))
		}
		for i, got := range columns.Rows(objects, recordedAt(objects)) {
			rows++
			cells := asJSON(t, got.Cells)
			cells, want.Rows[i].Cells = cells[:len(want.Columns)], want.Rows[i].Cells[:len(want.Columns)]
			for c := range want.Columns {
				if want.Columns[c].Name == "Age" { // grew while the others were made
					cells[c], want.Rows[i].Cells[c] = "", ""
				}
			}
			if diff := cmp.Diff(want.Rows[i].Cells, cells, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", resource, objects[i].GetName(), diff)
			}
			if diff := cmp.Diff(want.Rows[i].Conditions, got.Conditions); diff != "" {
				t.Errorf("%s %s: conditions (-want +got):\n%s", resource, objects[i].GetName(), diff)
			}
		}
	}
	if rows < 90 {
		t.Errorf("only %d rows were compared", rows)
	}
}

func decode(t *testing.T, kind schema.GroupVersionKind, data []byte) Object {
	t.Helper()
	if kind.Kind == "CustomResourceDefinition" {
		return &apiextensionsv1.CustomResourceDefinition{}
	}
	obj, err := clientscheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, obj); err != nil {
		t.Fatal(err)
	}
	return obj.(Object)
}

// recordedAt is about when the tables were recorded.
func recordedAt(objects []Object) time.Time {
	var last time.Time
	for _, obj := range objects {
		if made := obj.GetCreationTimestamp().Time; made.After(last) {
			last = made
		}
	}
	return last.Add(time.Second)
}

func asJSON(t *testing.T, cells []any) (out []any) {
	t.Helper()
	data, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestAges(t *testing.T) {
	for _, tc := range []struct {
		ago  time.Duration
		want string
	}{
		{0, "0s"}, {90 * time.Second, "90s"}, {3 * time.Minute, "3m"}, {5 * time.Hour, "5h"}, {50 * time.Hour, "2d2h"}, {1000 * 24 * time.Hour, "2y270d"},
	} {
		if got := since(noon.Add(-tc.ago), noon); got != tc.want {
			t.Errorf("%v ago: got %s, want %s", tc.ago, got, tc.want)
		}
	}
	if got := since(time.Time{}, noon); got != "<unknown>" {
		t.Errorf("never: got %s", got)
	}
}

// TestCustomColumns shows a custom resource by the paths of its definition.
func TestCustomColumns(t *testing.T) {
	columns, err := Custom([]apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "Size", Type: "integer", JSONPath: ".spec.size"},
		{Name: "Share", Type: "number", JSONPath: ".spec.share"},
		{Name: "Ready", Type: "boolean", JSONPath: ".status.ready"},
		{Name: "Hosts", Type: "string", JSONPath: ".spec.hosts[*]", Priority: 1},
		{Name: "First", Type: "string", JSONPath: ".spec.hosts[0]", Description: "The first host"},
		{Name: "Whole", Type: "string", JSONPath: ".spec.nested"},
		{Name: "Missing", Type: "string", JSONPath: ".spec.nosuch.deeper"},
		{Name: "Mistyped", Type: "integer", JSONPath: ".spec.hosts[0]"},
		{Name: "When", Type: "date", JSONPath: ".metadata.creationTimestamp"},
		{Name: "Never", Type: "date", JSONPath: ".spec.hosts[0]"},
	})
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "w", "creationTimestamp": noon.Add(-3 * time.Minute).Format(time.RFC3339)},
		"spec": map[string]any{
			"size": int64(3), "share": 0.5, "hosts": []any{"a", "b"}, "nested": map[string]any{"k": "v"},
		},
		"status": map[string]any{"ready": true},
	}}
	want := []any{"w", int64(3), 0.5, true, "a", "a", `{"k":"v"}`, nil, nil, "3m", "<invalid>"}
	if diff := cmp.Diff(want, columns.Row(obj, noon).Cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if got := columns.Head[4]; got.Priority != 1 || !strings.Contains(got.Description, ".spec.hosts[*]") {
		t.Errorf("column is %+v", got)
	}
	if _, err := Custom([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "Bad", Type: "string", JSONPath: "{"}}); err == nil {
		t.Error("a path that cannot be read is taken")
	}
}

// TestOldVersionsHaveRows: whoever stores another Go type than the one known here
// still sees names.
func TestOldVersionsHaveRows(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "p"}}}
	row := Builtin(schema.GroupKind{Kind: "Pod"}).Row(obj, noon)
	if len(row.Cells) != 9 || row.Cells[0] != "p" || row.Cells[4] != "<unknown>" {
		t.Errorf("cells are %v", row.Cells)
	}
}
