package rest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	caseSensitive "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxBody is the largest request body, in bytes.
const maxBody = 3 * 1024 * 1024

// readBody reads the body, refusing one that is too large; one that says so is
// not read at all.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errTooLarge()
	}
	if r.Body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("read body: %w", err))
	}
	if len(data) > maxBody {
		return nil, errTooLarge()
	}
	return data, nil
}

// objectType is the media type of a body that holds an object.
func objectType(r *http.Request) (string, error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return runtime.ContentTypeJSON, nil
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || !slices.Contains(mediaTypes, kind) {
		return "", errContentType(mediaTypes)
	}
	return kind, nil
}

// patchType is the media type of a patch. The server knows which it takes.
func patchType(r *http.Request) types.PatchType {
	header := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		kind = header
	}
	return types.PatchType(kind)
}

// deleteOptions are in the body if there is one, else in the query.
func deleteOptions(r *http.Request) (*metav1.DeleteOptions, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	opts := &metav1.DeleteOptions{}
	if len(body) == 0 {
		query := r.URL.Query()
		if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&query, opts, nil); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return opts, nil
	}
	kind, err := objectType(r)
	if err != nil {
		return nil, err
	}
	return opts, decodeDeleteOptions(body, kind, opts)
}

// decodeDeleteOptions reads a body. Any API group may be named, for the sake of
// old clients, but the kind must be right.
func decodeDeleteOptions(body []byte, kind string, into *metav1.DeleteOptions) (err error) {
	var gvk schema.GroupVersionKind
	read := func() error { return caseSensitive.UnmarshalCaseSensitivePreserveInts(body, into) }
	switch kind {
	case runtime.ContentTypeProtobuf:
		sent, err := openEnvelope(body)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		gvk, read = schema.FromAPIVersionAndKind(sent.APIVersion, sent.Kind), func() error { return into.Unmarshal(sent.Raw) }
	case runtime.ContentTypeYAML:
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		fallthrough
	default:
		sent, err := kjson.DefaultMetaFactory.Interpret(body)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		gvk = *sent
	}
	if gvk.Kind != "" && gvk.Kind != "DeleteOptions" {
		if gvk.Version == "" {
			gvk.Group, gvk.Version = metav1.GroupName, metav1.Unversioned.Version // those of DeleteOptions
		}
		return apierrors.NewBadRequest(fmt.Sprintf("no kind %q is registered for version %q in scheme %q",
			gvk.Kind, gvk.GroupVersion(), "pkg/runtime/scheme.go:111"))
	}
	if err := read(); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
