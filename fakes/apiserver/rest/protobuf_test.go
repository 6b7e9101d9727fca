package rest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

const protobuf = runtime.ContentTypeProtobuf

// fetch makes a request in process and returns the response and its body.
// head is what comes before the body of an answer.
type head struct {
	Status     string
	StatusCode int
	Header     http.Header
}

func fetch(t *testing.T, h http.RoundTripper, r *http.Request) (head, []byte) {
	t.Helper()
	resp, err := h.RoundTrip(r)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	return head{resp.Status, resp.StatusCode, resp.Header}, data
}

func get(path, accept string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://x"+path, nil)
	r.Header.Set("Accept", accept)
	return r
}

// TestProtobufSaysWhatJSONSays reads lists of every built-in kind in both forms.
func TestProtobufSaysWhatJSONSays(t *testing.T) {
	store := apiserver.NewStore(apiserver.Options{})
	h := rest.New(apiserver.NewServer(store, "test"))
	client := kubernetes.NewForConfigOrDie(protobufConfig(h))
	_, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	must(t, err)

	decoder := clientscheme.Codecs.UniversalDeserializer()
	for _, res := range store.Resources() {
		path := "/apis/" + res.Group + "/" + res.Version + "/" + res.Plural
		if res.Group == "" {
			path = "/api/" + res.Version + "/" + res.Plural
		}
		if !clientscheme.Scheme.Recognizes(res.GVK()) || len(res.Verbs) < 3 {
			continue
		}
		resp, data := fetch(t, h, get(path, protobuf))
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != protobuf {
			t.Errorf("%s: %s, %s", path, resp.Status, resp.Header.Get("Content-Type"))
			continue
		}
		fromProtobuf, _, err := decoder.Decode(data, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_, text := fetch(t, h, get(path, "application/json"))
		fromJSON, _, err := decoder.Decode(text, nil, nil)
		must(t, err)
		if diff := cmp.Diff(bare(fromJSON), bare(fromProtobuf), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-JSON +protobuf):\n%s", path, diff)
		}
	}
}

// bare is a list without the kind, which decoding leaves differently.
func bare(obj runtime.Object) runtime.Object {
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj
}

// TestTypedClientsInProtobuf writes through everything that has a body of its own.
func TestTypedClientsInProtobuf(t *testing.T) {
	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(protobufConfig(newHandler()))
	pods := client.CoreV1().Pods("default")
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{}))
	pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
	must(t, err)
	if pod.Spec.NodeName != "n" {
		t.Errorf("the pod is bound to %q", pod.Spec.NodeName)
	}
	pod.Status.Phase = corev1.PodRunning
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	must(t, err)
	must(t, pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}}))

	controllers := client.CoreV1().ReplicationControllers("default")
	_, err = controllers.Create(ctx, &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Spec: corev1.ReplicationControllerSpec{
			Selector: map[string]string{"a": "b"},
			Template: &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	scale, err := controllers.UpdateScale(ctx, "r", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: 7},
	}, metav1.UpdateOptions{})
	must(t, err)
	if scale.Spec.Replicas != 7 {
		t.Errorf("scaled to %d", scale.Spec.Replicas)
	}
	policy := metav1.DeletePropagationForeground
	must(t, controllers.Delete(ctx, "r", metav1.DeleteOptions{PropagationPolicy: &policy}))
	left, err := controllers.Get(ctx, "r", metav1.GetOptions{})
	must(t, err)
	if !reflect.DeepEqual(left.Finalizers, []string{"foregroundDeletion"}) {
		t.Errorf("finalizers are %v", left.Finalizers)
	}
}

// TestProtobufFrames reads a watch event by event: a length, an event, and in it
// an object in its envelope.
func TestProtobufFrames(t *testing.T) {
	h := newHandler()
	do(t, h, "POST", maps, "", "", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	for accept, kind := range map[string]string{
		protobuf: "ConfigMap",
		protobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1": "PartialObjectMetadata",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := h.RoundTrip(get(maps+"?watch=true&resourceVersion=0", accept).WithContext(ctx))
		must(t, err)
		if got := resp.Header.Get("Content-Type"); got != protobuf+";stream=watch" {
			t.Errorf("content type is %s", got)
		}
		var size [4]byte
		_, err = io.ReadFull(resp.Body, size[:])
		must(t, err)
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		_, err = io.ReadFull(resp.Body, frame)
		must(t, err)
		var event metav1.WatchEvent
		must(t, event.Unmarshal(frame))
		obj, gvk, err := metadataCodecs(t).UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
		must(t, err)
		if event.Type != "ADDED" || gvk.Kind != kind || obj.(metav1.Object).GetName() != "a" {
			t.Errorf("event is %s %s %s", event.Type, gvk, obj.(metav1.Object).GetName())
		}
		cancel()
		must(t, resp.Body.Close())
	}
}

// metadataCodecs read all built-in kinds, and what is only metadata.
func metadataCodecs(t *testing.T) serializer.CodecFactory {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, clientscheme.AddToScheme(scheme))
	must(t, metav1.AddMetaToScheme(scheme))
	return serializer.NewCodecFactory(scheme)
}

// TestErrorsInTheFormOfTheClient: a Status is written as the client takes it, and
// in JSON if it takes nothing that a Status can be.
func TestErrorsInTheFormOfTheClient(t *testing.T) {
	h := newHandler()
	resp, data := fetch(t, h, get(maps+"/nope", protobuf))
	obj, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	must(t, err)
	if status, ok := obj.(*metav1.Status); !ok || status.Code != http.StatusNotFound || resp.StatusCode != http.StatusNotFound {
		t.Errorf("protobuf: %s, %v", resp.Status, obj)
	}
	_, data = fetch(t, h, get(maps+"/nope", "application/yaml"))
	if !strings.Contains(string(data), "\nreason: NotFound\n") {
		t.Errorf("YAML: %s", data)
	}
	resp, data = fetch(t, h, get(maps+"/nope", "application/json;as=Table;g=meta.k8s.io;v=v1"))
	var status metav1.Status
	must(t, json.Unmarshal(data, &status))
	if resp.Header.Get("Content-Type") != "application/json" || status.Reason != "NotFound" {
		t.Errorf("table only: %s", data)
	}
}

// TestCustomResourcesAreNotProtobuf, though their metadata is.
func TestCustomResourcesAreNotProtobuf(t *testing.T) {
	store := apiserver.NewStore(apiserver.Options{})
	must(t, store.Register(apiserver.KindInfo{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}))
	h := rest.New(apiserver.NewServer(store, "test"))
	const widgets = "/apis/example.com/v1/namespaces/default/widgets"
	do(t, h, "POST", widgets, "", "", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}`)

	resp, data := fetch(t, h, get(widgets+"/w", protobuf))
	if resp.StatusCode != http.StatusNotAcceptable {
		t.Errorf("protobuf only: %s: %s", resp.Status, data)
	}
	resp, data = fetch(t, h, get(widgets+"/w", protobuf+",application/json"))
	var u unstructured.Unstructured
	must(t, json.Unmarshal(data, &u.Object))
	if resp.StatusCode != http.StatusOK || u.GetKind() != "Widget" {
		t.Errorf("protobuf or JSON: %s: %s", resp.Status, data)
	}
	resp, data = fetch(t, h, get(widgets+"/w", protobuf+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"))
	if resp.StatusCode != http.StatusOK || !bytes.HasPrefix(data, []byte("k8s\x00")) {
		t.Errorf("metadata in protobuf: %s: %q", resp.Status, data)
	}
	code, _, answer := do(t, h, "POST", widgets, "", protobuf, "k8s\x00")
	if code != http.StatusBadRequest || !strings.Contains(answer, "does not implement the protobuf marshalling interface") {
		t.Errorf("a body in protobuf: %d %s", code, answer)
	}
}

// TestDefinitionsInProtobuf: the scheme of client-go does not know them, but they have
// a form in protobuf.
func TestDefinitionsInProtobuf(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, apiextensions.AddToScheme(scheme))
	wire := protobufserializer.NewSerializer(scheme, scheme)
	d := &apiextensions.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.ClusterScoped, Names: apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	var body bytes.Buffer
	must(t, wire.Encode(d, &body))
	h := newHandler()
	code, kind, answer := do(t, h, "POST", crds, runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf, body.String())
	if code != 201 || kind != runtime.ContentTypeProtobuf {
		t.Fatalf("%d %s %q", code, kind, answer)
	}
	got, _, err := wire.Decode([]byte(answer), nil, nil)
	must(t, err)
	if name := got.(*apiextensions.CustomResourceDefinition).Spec.Names.ListKind; name != "WidgetList" {
		t.Errorf("the answer has the list kind %q", name)
	}
	d.Kind = "ConfigMap"
	d.APIVersion = "v1"
	body.Reset()
	must(t, wire.Encode(d, &body))
	if code, _, answer = do(t, h, "POST", crds, "", runtime.ContentTypeProtobuf, body.String()); code != 400 {
		t.Errorf("another kind: %d %s", code, answer)
	}
}
