package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

// TestConfigure: a file says what flags say, flags win, and what is wrong has a line.
func TestConfigure(t *testing.T) {
	type settings struct {
		name  string
		count int
		on    bool
		list  []string
	}
	for _, c := range []struct {
		name, file string
		args       []string
		want       settings
		err        string
	}{
		{"nothing", "", nil, settings{name: "n", list: []string{"x"}}, ""},
		{"comments alone", "# nothing\n", nil, settings{name: "n", list: []string{"x"}}, ""},
		{"everything", "name: a\ncount: 3\non: true\nlist: [b, c]\n", nil, settings{"a", 3, true, []string{"b", "c"}}, ""},
		{"one of a list", "list: b\n", nil, settings{name: "n", list: []string{"b"}}, ""},
		{"flags win", "name: a\ncount: 3\n", []string{"--name", "z"}, settings{name: "z", count: 3, list: []string{"x"}}, ""},
		{"a file names no file", "config: other\n", nil, settings{}, `FILE:1: unknown field "config": the fields have the names of the flags, see --help`},
		{"unknown", "name: a\n\n# c\ncuont: 3\n", nil, settings{}, `FILE:4: unknown field "cuont": did you mean "count"?`},
		{"twice", "on: true\nname: a\non: false\n", nil, settings{}, `FILE:3: field "on" is there twice`},
		{"another value", "count: many\n", nil, settings{}, `FILE:1: field "count": expected a value of type int: see --help`},
		{"a list of one value", "\nname: [a, b]\n", nil, settings{}, `FILE:2: field "name": expected one value and not a list`},
		{"fields in a field", "name: {a: b}\n", nil, settings{}, `FILE:1: field "name": expected a text, a number or a list`},
		{"fields in a list", "list: [{a: b}]\n", nil, settings{}, `FILE:1: field "list": expected a list of texts`},
		{"a text", "name\n", nil, settings{}, "FILE: line 1: expected fields and their values, such as 'log-level: debug'"},
		{"no YAML", "name: [\n", nil, settings{}, "FILE: yaml: line 1: "},
		{"two documents", "name: a\n---\nname: b\n", nil, settings{}, "FILE: there is a second document; a file has one"},
		{"a file without end", strings.Repeat("# nothing\n", 1<<17), nil, settings{}, "--config: FILE is larger than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got settings
			f := pflag.NewFlagSet("test", pflag.ContinueOnError)
			f.String("config", "", "")
			f.StringVar(&got.name, "name", "n", "")
			f.IntVar(&got.count, "count", 0, "")
			f.BoolVar(&got.on, "on", false, "")
			f.StringSliceVar(&got.list, "list", []string{"x"}, "")
			if err := f.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "c.yaml")
			if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			err := daemon.Configure(f, file)
			if c.err != "" {
				if want := strings.ReplaceAll(c.err, "FILE", file); err == nil || !strings.HasPrefix(err.Error(), want) || !daemon.IsUsage(err) {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			if err != nil || got.name != c.want.name || got.count != c.want.count || got.on != c.want.on || strings.Join(got.list, ",") != strings.Join(c.want.list, ",") {
				t.Errorf("settings %+v, error %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	cause := errors.New("cause")
	if err := daemon.Usage(cause); !daemon.IsUsage(err) || !errors.Is(err, cause) || err.Error() != "cause" {
		t.Errorf("error %v", err)
	}
	if daemon.Usage(nil) != nil || daemon.IsUsage(cause) {
		t.Error("what is no error of usage is one")
	}
}
