package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// configMax is the size of the largest configuration file that is read.
const configMax = 1 << 20

// Configure sets the flags that were not given from a YAML file: its fields are named
// as flags are, without dashes in front, and a flag that may be repeated takes a list.
// An error names the file, the line and the field, and no value: somebody may have named
// a file of secrets. Without the name of a file nothing is set.
func Configure(flags *pflag.FlagSet, file string) error {
	if file == "" {
		return nil
	}
	data, err := readConfig(file)
	if err != nil {
		return Usagef("--config: %w", err)
	}
	fields, err := fieldsOf(data)
	if err != nil {
		return Usagef("%s: %w", file, err)
	}
	for i := range fields {
		if err := fields[i].set(flags, fields[:i]); err != nil {
			return Usagef("%s:%d: %w", file, fields[i].line, err)
		}
	}
	return nil
}

func readConfig(file string) (data []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if data, err = io.ReadAll(io.LimitReader(f, configMax+1)); err == nil && len(data) > configMax {
		err = fmt.Errorf("%s is larger than %d bytes", file, configMax)
	}
	return data, err
}

var (
	errNotAMapping = errors.New("expected fields and their values, such as 'log-level: debug'")
	errMore        = errors.New("there is a second document; a file has one")
)

// notFields are flags that a file does not set.
var notFields = []string{"config", "help", "version"}

// field is one line of a file.
type field struct {
	name   string
	line   int
	values []string
	err    error
}

func fieldsOf(data []byte) ([]field, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errMore
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: %w", root.Line, errNotAMapping)
	}
	var fields []field
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		f := field{name: key.Value, line: key.Line}
		switch value.Kind {
		case yaml.ScalarNode:
			f.values = []string{value.Value}
		case yaml.SequenceNode:
			for _, item := range value.Content {
				if item.Kind != yaml.ScalarNode {
					f.err = errors.New("expected a list of texts")
				}
				f.values = append(f.values, item.Value)
			}
		default:
			f.err = errors.New("expected a text, a number or a list")
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// set gives the flag of a field its value.
func (d *field) set(f *pflag.FlagSet, before []field) error {
	flag := f.Lookup(d.name)
	if flag == nil || slices.Contains(notFields, d.name) {
		return fmt.Errorf("unknown field %q%s", d.name, nearest(f, d.name))
	}
	if slices.ContainsFunc(before, func(other field) bool { return other.name == d.name }) {
		return fmt.Errorf("field %q is there twice", d.name)
	}
	if d.err != nil {
		return fmt.Errorf("field %q: %w", d.name, d.err)
	}
	if flag.Changed {
		return nil
	}
	list, isList := flag.Value.(pflag.SliceValue)
	switch {
	case isList:
		if err := list.Replace(d.values); err != nil {
			return fmt.Errorf("field %q: expected values of type %s: see --help", d.name, flag.Value.Type())
		}
	case len(d.values) != 1:
		return fmt.Errorf("field %q: expected one value and not a list", d.name)
	default:
		if err := flag.Value.Set(d.values[0]); err != nil {
			return fmt.Errorf("field %q: expected a value of type %s: see --help", d.name, flag.Value.Type())
		}
	}
	return nil
}

// nearest proposes the name that was meant.
func nearest(f *pflag.FlagSet, name string) string {
	best, distance := "", 4
	f.VisitAll(func(flag *pflag.Flag) {
		if d := edits(flag.Name, name); d < distance && !slices.Contains(notFields, flag.Name) {
			best, distance = flag.Name, d
		}
	})
	if best == "" {
		return ": the fields have the names of the flags, see --help"
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// edits is how many letters must be added, removed or replaced to make a of b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
