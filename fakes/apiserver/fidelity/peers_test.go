package fidelity_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// A peer is a fake of somebody else, which has no protocol but a Go interface.
type peer interface {
	// do makes a call and returns the object that the interface gives back, or
	// nil if it gives none.
	do(ctx context.Context, call *peerCall) (runtime.Object, error)
	watch(ctx context.Context, call *peerCall) (watch.Interface, error)
}

// peerCall is a request in the terms of Go clients.
type peerCall struct {
	verb                         string // create, get, list, update, patch, delete, deletecollection, watch
	kind                         schema.GroupVersionKind
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
	query                        url.Values
	patch                        types.PatchType
	body                         []byte
}

// inexpressible is the beginning of what is said of requests that a peer's
// interface has no way to make: they are counted apart.
const inexpressible = "the Go interface cannot express it: "

func cannot(format string, args ...any) error {
	return fmt.Errorf(inexpressible+format, args...)
}

// peerTransport lets cases, which speak HTTP, run on a peer.
type peerTransport struct {
	peer  peer
	kinds map[schema.GroupVersionResource]schema.GroupVersionKind
	// accounts gives each namespace a service account, without which cases that
	// were recorded with controllers do not begin.
	accounts bool
}

func peerTarget(p peer, known *runtime.Scheme, c *conformance.Case) conformance.Target {
	tr := &peerTransport{peer: p, accounts: c.Full(), kinds: map[schema.GroupVersionResource]schema.GroupVersionKind{}}
	for kind := range known.AllKnownTypes() {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		tr.kinds[resource] = kind
	}
	nothing := func(context.Context) error { return nil } // a peer keeps no history to forget
	return conformance.Target{
		Transport: tr, Token: peerToken, Compact: nothing, Restart: nothing,
		WebhookURL: "https://webhooks.invalid", WebhookCA: "bm8gY2VydGlmaWNhdGU=",
	}
}

const peerToken = "admin"

func (tr *peerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	call, err := tr.call(r)
	if err != nil {
		return refusal(err), nil
	}
	if call.verb == "watch" {
		w, err := tr.peer.watch(r.Context(), call)
		if err != nil {
			return refusal(err), nil
		}
		return stream(r.Context(), w), nil
	}
	obj, err := tr.do(r.Context(), call)
	if err != nil {
		return refusal(err), nil
	}
	body, err := encoded(obj, call)
	if err != nil {
		return nil, err
	}
	if call.verb == "create" && call.kind.Kind == "CustomResourceDefinition" {
		tr.serve(body)
	}
	if call.verb == "create" && call.kind.Kind == "Namespace" && tr.accounts {
		if err := tr.giveAccount(r.Context(), body); err != nil {
			return nil, err
		}
	}
	code := http.StatusOK
	if call.verb == "create" {
		code = http.StatusCreated
	}
	return answer(code, body), nil
}

// do makes a panic an error like any other; client-go's fake does it when it
// cannot parse a selector.
func (tr *peerTransport) do(ctx context.Context, call *peerCall) (obj runtime.Object, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return tr.peer.do(ctx, call)
}

func (tr *peerTransport) giveAccount(ctx context.Context, namespace []byte) error {
	var ns corev1.Namespace
	if err := json.Unmarshal(namespace, &ns); err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	_, err := tr.peer.do(ctx, &peerCall{
		verb: "create", resource: resource, kind: tr.kinds[resource], namespace: ns.Name,
		body: []byte(`{"metadata":{"name":"default"}}`),
	})
	return err
}

// serve makes the kinds of a definition known.
func (tr *peerTransport) serve(definition []byte) {
	var crd apiextensionsv1.CustomResourceDefinition
	if json.Unmarshal(definition, &crd) != nil {
		return
	}
	for _, version := range crd.Spec.Versions {
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		tr.kinds[gv.WithResource(crd.Spec.Names.Plural)] = gv.WithKind(crd.Spec.Names.Kind)
	}
}

// call takes a request apart, or says what of it no Go client could ask for.
func (tr *peerTransport) call(r *http.Request) (*peerCall, error) {
	switch {
	case r.Header.Get("Impersonate-User") != "", r.Header.Get("Authorization") != "Bearer "+peerToken:
		return nil, cannot("it acts as a user")
	case r.Header.Get("Accept") != "application/json":
		return nil, cannot("it negotiates %s", r.Header.Get("Accept"))
	case r.Header.Get("User-Agent") != "" && r.Header.Get("User-Agent") != "case-runner/1.0":
		return nil, cannot("it has a user agent")
	}
	call, err := parsePath(r.URL.Path)
	if err != nil {
		return nil, err
	}
	call.query = r.URL.Query()
	kind, known := tr.kinds[call.resource]
	if !known {
		return nil, cannot("%s has no Go type", call.resource)
	}
	call.kind = kind
	if call.verb = verbOf(r, call); call.verb == "patch" {
		call.patch = types.PatchType(r.Header.Get("Content-Type"))
	}
	if r.Body != nil {
		if call.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	return call, nil
}

func verbOf(r *http.Request, call *peerCall) string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete && call.name == "":
		return "deletecollection"
	case r.Method == http.MethodDelete:
		return "delete"
	case call.query.Get("watch") == "true":
		return "watch"
	case call.name == "":
		return "list"
	}
	return "get"
}

func parsePath(path string) (*peerCall, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	call := &peerCall{}
	switch {
	case parts[0] == "api" && len(parts) > 2:
		call.resource.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		call.resource.Group, call.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, cannot("%s is no path of objects", path)
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		call.namespace, parts = parts[1], parts[2:]
	}
	for i, part := range parts {
		switch i {
		case 0:
			call.resource.Resource = part
		case 1:
			call.name = part
		case 2:
			call.subresource = part
		default:
			return nil, cannot("%s is no path of objects", path)
		}
	}
	return call, nil
}

// object decodes the body as a Go client would have it: with kind, namespace and
// name as the call says. A body that says otherwise cannot be sent.
func (call *peerCall) object(kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(call.body, &u.Object); err != nil || u.Object == nil {
		return nil, cannot("the body is no object")
	}
	if metadata, there := u.Object["metadata"]; there {
		if _, ok := metadata.(map[string]any); !ok {
			return nil, cannot("the body has no metadata")
		}
	}
	gvk := u.GroupVersionKind()
	switch {
	case gvk.Kind != "" && gvk != kind:
		return nil, cannot("the body is a %s", gvk)
	case u.GetNamespace() != "" && u.GetNamespace() != call.namespace:
		return nil, cannot("the body is in another namespace")
	case call.name != "" && u.GetName() != "" && u.GetName() != call.name:
		return nil, cannot("the body has another name")
	}
	u.SetGroupVersionKind(kind)
	if call.namespace != "" {
		u.SetNamespace(call.namespace)
	}
	if call.name != "" {
		u.SetName(call.name)
	}
	return u, nil
}

func encoded(obj runtime.Object, call *peerCall) ([]byte, error) {
	if obj == nil {
		return []byte("{}"), nil
	}
	if obj.GetObjectKind().GroupVersionKind().Empty() {
		kind := call.kind
		if call.verb == "list" {
			kind.Kind += "List"
		}
		obj.GetObjectKind().SetGroupVersionKind(kind)
	}
	return json.Marshal(obj)
}

func answer(code int, body []byte) *http.Response {
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	rec.WriteHeader(code)
	_, _ = rec.Write(body) // into memory
	return rec.Result()
}

// refusal is an error as a server would say it. One without a status is nothing
// that a server says.
func refusal(err error) *http.Response {
	status := metav1.Status{Status: metav1.StatusFailure, Message: err.Error(), Code: http.StatusTeapot}
	if withStatus := apierrors.APIStatus(nil); errors.As(err, &withStatus) {
		status = withStatus.Status()
	}
	body, _ := json.Marshal(&status) // a Status always can
	return answer(int(status.Code), body)
}

// stream sends the events of a watch until the reader goes away.
func stream(ctx context.Context, w watch.Interface) *http.Response {
	reader, writer := io.Pipe()
	go func() {
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				writer.CloseWithError(ctx.Err())
				return
			case event, open := <-w.ResultChan():
				if !open {
					writer.CloseWithError(io.EOF)
					return
				}
				line, err := json.Marshal(map[string]any{"type": event.Type, "object": event.Object})
				if err == nil {
					_, err = writer.Write(append(line, '\n'))
				}
				if err != nil {
					writer.CloseWithError(err)
					return
				}
			}
		}
	}()
	resp := answer(http.StatusOK, nil)
	resp.Body = reader
	return resp
}

// options decodes query parameters, and the body of a delete, into a struct of
// options. The parameters are in JSON what they are in a URL, but for lists and
// numbers.
func (call *peerCall) options(into any) error {
	values := map[string]any{}
	for name := range call.query {
		switch value := call.query.Get(name); name {
		case "dryRun":
			values[name] = call.query[name]
		case "limit", "timeoutSeconds", "gracePeriodSeconds":
			values[name] = json.Number(value)
		case "force", "allowWatchBookmarks", "sendInitialEvents", "orphanDependents", "ignoreStoreReadErrorWithClusterBreakingPotential":
			values[name] = value == "true"
		case "watch", "pretty":
		default:
			values[name] = value
		}
	}
	data, err := json.Marshal(values)
	if err != nil {
		return cannot("a parameter is malformed")
	}
	sources := [][]byte{data}
	if (call.verb == "delete" || call.verb == "deletecollection") && len(call.body) > 0 {
		sources = append(sources, call.body)
	}
	for _, source := range sources {
		d := json.NewDecoder(bytes.NewReader(source))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return cannot("an option: %v", err)
		}
	}
	return nil
}
