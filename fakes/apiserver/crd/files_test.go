package crd_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestReadFiles(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"good"}, "gadgets.example.com widgets.example.com parts.example.com"},
		{[]string{"good/two.yaml", "good/gadgets.yaml"}, "widgets.example.com parts.example.com gadgets.example.com"},
		{[]string{"./good/"}, "gadgets.example.com widgets.example.com parts.example.com"},
	} {
		found, err := (&crd.Cache{}).ReadFiles(os.DirFS("testdata/files"), c.paths...)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range found {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: got %s, want %s", c.paths, got, c.want)
		}
	}
}

// TestMistakesInFiles compares what is said of bad files with the golden file.
func TestMistakesInFiles(t *testing.T) {
	var b strings.Builder
	fsys := os.DirFS("testdata/files")
	for _, paths := range [][]string{{"bad"}, {"empty"}, {"missing"}, {"good/two.yaml", "good"}} {
		found, err := (&crd.Cache{}).ReadFiles(fsys, paths...)
		if err == nil || found != nil {
			t.Errorf("%v: read %d definitions, error %v", paths, len(found), err)
		}
		b.WriteString(err.Error() + "\n")
		var first *crd.FileError
		if !errors.As(err, &first) || first.File == "" || first.Message == "" {
			t.Errorf("%v: the error does not say where it is: %#v", paths, first)
		}
	}
	const golden = "testdata/files/bad.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAFileThatCannotBeRead names the file.
func TestAFileThatCannotBeRead(t *testing.T) {
	fsys := fstest.MapFS{"a/b.yaml": {Mode: fs.ModeSymlink, Data: []byte("nowhere")}}
	_, err := (&crd.Cache{}).ReadFiles(fsys, "a")
	if err == nil || err.Error() != "a/b.yaml: file does not exist" {
		t.Errorf("got %v", err)
	}
}
