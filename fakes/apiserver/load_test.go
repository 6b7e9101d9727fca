package apiserver_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

func TestLoadCRDsServesTheirKinds(t *testing.T) {
	a := newAPI(t)
	if err := a.LoadCRDs(os.DirFS("crd/testdata/files"), "good"); err != nil {
		t.Fatal(err)
	}
	a.create(widgets, widget("w", map[string]any{}))
	equal(t, "spec", spec(a.get(widgets, "w")), "map[size:1]")
}

func TestLoadCRDsRefuses(t *testing.T) {
	thing := func(name, kind string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + name + `.example.com},
 spec: {group: example.com, scope: Cluster, names: {kind: ` + kind + `, plural: ` + name + `},
 versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)}
	}
	for _, c := range []struct {
		name  string
		files fs.FS
		file  bool // the error tells of a file
		text  string
	}{
		{"bad files", fstest.MapFS{"a.yaml": thing("a", "")}, true, `a.yaml: document 1: CustomResourceDefinition "a.example.com": spec.names.kind: Required value`},
		{"names that are taken", fstest.MapFS{"a.yaml": thing("a", "Same"), "b.yaml": thing("b", "Same")}, false,
			`define b.example.com: "SameList" is already in use`},
	} {
		a := newAPI(t)
		err := a.LoadCRDs(c.files, ".")
		var wrong *crd.FileError
		if err == nil || !strings.HasPrefix(err.Error(), c.text) || errors.As(err, &wrong) != c.file {
			t.Errorf("%s: got %v\nwant %s", c.name, err, c.text)
		}
	}
	a := newAPI(t)
	if err := a.LoadCRDs(os.DirFS("crd/testdata/files"), "good"); err != nil {
		t.Fatal(err)
	}
	err := a.LoadCRDs(os.DirFS("crd/testdata/files"), "good/gadgets.yaml")
	if err == nil || err.Error() != `define gadgets.example.com: customresourcedefinitions.apiextensions.k8s.io "gadgets.example.com" already exists` {
		t.Errorf("twice: %v", err)
	}
}
