package patch

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
)

func example() *appsv1.Deployment {
	two, surge := int32(2), intstr.FromString("25%")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: map[string]string{"a": "1", "b": "2"}, Finalizers: []string{"x/y"}}}
	d.Spec.Replicas = &two
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &surge}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}
	d.Spec.Template.Spec.NodeSelector = map[string]string{"n": "1"}
	d.Spec.Template.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1")}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available"}}
	return d
}

// TestShortWayAgreesWithTheLongWay: whatever MergeTyped does not refuse, it does
// as a merge patch of the JSON would.
func TestShortWayAgreesWithTheLongWay(t *testing.T) {
	for patch, short := range map[string]bool{
		`{}`: true,
		`{"metadata":{"labels":{"a":null,"c":"3"},"annotations":{"n":"1"}}}`:                                                           true,
		`{"metadata":{"labels":null,"finalizers":null}}`:                                                                               true,
		`{"metadata":{"finalizers":["p/q","r/s"],"generation":7}}`:                                                                     true,
		`{"metadata":{"creationTimestamp":"2024-01-02T03:04:05Z","deletionGracePeriodSeconds":5}}`:                                     true,
		`{"spec":{"replicas":null,"paused":true,"strategy":{"rollingUpdate":{"maxSurge":3}}}}`:                                         true,
		`{"spec":{"strategy":{"rollingUpdate":null,"type":"Recreate"}}}`:                                                               true,
		`{"spec":{"selector":{"matchLabels":{"b":"2"}},"minReadySeconds":9}}`:                                                          true,
		`{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"j","ports":[{"containerPort":80}]}],"securityContext":{}}}}}`: true,
		`{"spec":{"template":{"spec":{"overhead":{"cpu":"500m","memory":1},"nodeSelector":{"n":null}}}}}`:                              true,
		`{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":null}}}}}`:                                                            true,
		`{"status":{"conditions":[{"type":"Progressing","status":"True"}],"replicas":4}}`:                                              true,
		`{"spec":{"replicas":"three"}}`:                                                                                                false,
		`{"spec":{"replicas":99999999999}}`:                                                                                            false,
		`{"spec":{"nosuch":1}}`:                                                                                                        false,
		`{"spec":{"Replicas":1}}`:                                                                                                      false,
		`{"spec":{"template":{"spec":{"containers":[{"nosuch":1}]}}}}`:                                                                 false,
		`{"kind":"Other"}`:                     false,
		`{"metadata":{"labels":{"a":1}}}`:      false,
		`{"metadata":{"labels":"text"}}`:       false,
		`{"spec":{"replicas":{"a":1}}}`:        false,
		`{"spec":{"replicas":1,"replicas":2}}`: false,
		`[]`:                                   false,
	} {
		base := example()
		parsed, ok := Parse([]byte(patch))
		got := *base
		ok = ok && MergeTyped(&got, parsed)
		if ok != short {
			t.Errorf("%s: the short way says %v", patch, ok)
		}
		if diff := cmp.Diff(example(), base); diff != "" {
			t.Errorf("%s wrote into what is shared (-was +is):\n%s", patch, diff)
		}
		if !ok {
			continue
		}
		doc, _ := json.Marshal(example())
		doc, _, err := Merge(doc, []byte(patch), true)
		if err != nil {
			t.Fatal(err)
		}
		want := &appsv1.Deployment{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(doc, want); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(&got)
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("%s (-long +short):\n%s", patch, diff)
		}
	}
}

func TestContentMergesWithoutWriting(t *testing.T) {
	content := map[string]any{"spec": map[string]any{"a": int64(1), "b": map[string]any{"c": "d"}}, "status": "s"}
	before, _ := json.Marshal(content)
	patch, _ := Parse([]byte(`{"spec":{"a":null,"e":{"f":null,"g":1.5}},"list":[null]}`))
	got := MergeContent(content, patch)
	want := map[string]any{"spec": map[string]any{"b": map[string]any{"c": "d"}, "e": map[string]any{"g": 1.5}}, "status": "s", "list": []any{nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if after, _ := json.Marshal(content); string(after) != string(before) {
		t.Error("the content was written to")
	}
	if reflect.ValueOf(got["spec"].(map[string]any)["b"]).Pointer() != reflect.ValueOf(content["spec"].(map[string]any)["b"]).Pointer() {
		t.Error("what did not change was copied")
	}
}

func TestWhatIsNoPatch(t *testing.T) {
	if err := CheckBody(types.MergePatchType, []byte("{")); !apierrors.IsBadRequest(err) {
		t.Errorf("broken JSON: %v", err)
	}
	if err := CheckType(types.StrategicMergePatchType, true); !apierrors.IsUnsupportedMediaType(err) ||
		!strings.HasSuffix(err.Error(), "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml") {
		t.Errorf("another type: %v", err)
	}
	doc := []byte(`{"a":1}`)
	for patch, check := range map[string]func(error) bool{
		`[{"op":"test","path":"/a","value":2}]`: apierrors.IsInvalid,
		`[{"op":"frob","path":"/a"}]`:           apierrors.IsInvalid,
		`{"op":"test"}`:                         apierrors.IsBadRequest,
	} {
		if _, _, err := JSON(doc, []byte(patch), true); !check(err) {
			t.Errorf("%s: %v", patch, err)
		}
	}
	_, complaints, err := JSON(doc, []byte(`[{"op":"add","path":"/b","value":1,"extra":2}]`), true)
	if err != nil || len(complaints) != 1 || complaints[0].Error() != `json patch unknown field "[0].extra"` {
		t.Errorf("an unknown field: %v, %v", complaints, err)
	}
	big := "[" + strings.Repeat(`{"op":"add","path":"/b","value":1},`, maxOperations) + `{"op":"remove","path":"/b"}]`
	if _, _, err := JSON(doc, []byte(big), false); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("too many operations: %v", err)
	}
}
