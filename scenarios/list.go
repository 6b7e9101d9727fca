package scenarios

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// The lists below are what a person reads to learn what a scenario may say. All
// of it comes from the registry, so it cannot be out of date.

// Nearest returns the name that a person most likely meant by got, or "" when
// none is close.
func Nearest(got string, names []string) string { return form.Nearest(got, names) }

// entry writes a name and, indented below it, what it means.
func entry(b *strings.Builder, name, doc string) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(name + "\n" + form.Wrap("    ", doc, lineWidth))
}

// knobs writes names in a column and their meaning beside it.
func knobs(b *strings.Builder, rows [][2]string) {
	wide := 0
	for _, row := range rows {
		wide = max(wide, len(row[0]))
	}
	for _, row := range rows {
		b.WriteString(form.Wrap(fmt.Sprintf("      %-*s  ", wide, row[0]), row[1], lineWidth))
	}
}

// ListSystems describes the systems and their configuration.
func (r *Registry) ListSystems() string {
	var b strings.Builder
	for _, s := range r.systems {
		entry(&b, s.Name, s.Doc)
		knobs(&b, fieldRows(s.newConfig().Elem()))
	}
	if len(r.systems) == 0 {
		return "no systems are registered\n"
	}
	return b.String()
}

// fieldRows lists the fields of a configuration with their defaults.
func fieldRows(config reflect.Value) [][2]string {
	var rows [][2]string
	for i := range config.NumField() {
		field := config.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		doc := field.Tag.Get("doc")
		if options := field.Tag.Get("enum"); options != "" {
			doc += " One of " + strings.Join(strings.Fields(options), ", ") + "."
		}
		if value := config.Field(i); !value.IsZero() && value.Kind() != reflect.Slice && value.Kind() != reflect.Map {
			doc += fmt.Sprintf(" Default: %v.", reflect.Indirect(value).Interface())
		}
		rows = append(rows, [2]string{name, doc})
	}
	return rows
}

// ListFiles describes scenarios: what each shows, and how it is run.
func ListFiles(files []*File) string {
	var b strings.Builder
	for _, file := range files {
		expect := "pass"
		if file.Expect.Violates != "" {
			expect = "violates " + file.Expect.Violates
		}
		entry(&b, file.Metadata.Name, file.Metadata.Description)
		knobs(&b, [][2]string{{"file", file.Path}, {"expect", expect}, {"seeds", thousands(uint64(file.Explore.Seeds))}})
	}
	return b.String()
}

// ListProperties describes the property library.
func (r *Registry) ListProperties() string {
	var b strings.Builder
	for _, p := range r.properties {
		doc := p.Meaning
		if p.check == nil {
			doc += " Checked in every run."
		}
		entry(&b, p.Name, doc)
	}
	return b.String()
}

// ListFaults describes the profiles and the kinds of fault with their knobs.
func (r *Registry) ListFaults() string {
	var b strings.Builder
	for _, p := range profiles {
		entry(&b, "profile "+p.name, p.doc)
	}
	entry(&b, "every fault", "Knobs that nearly all faults have; the others are listed with each.")
	knobs(&b, knobRows(commonKnobs()))
	for _, f := range r.Faults() {
		entry(&b, f.Name, f.Meaning)
		knobs(&b, knobRows(f.Knobs))
	}
	return b.String()
}

func knobRows(infos []KnobInfo) [][2]string {
	var rows [][2]string
	for _, knob := range infos {
		doc := knob.Meaning
		if knob.Default != "" {
			doc += " Default: " + knob.Default + "."
		}
		rows = append(rows, [2]string{knob.Name, doc})
	}
	return rows
}

// ListSteps describes the steps with an example of each.
func (r *Registry) ListSteps() string {
	var b strings.Builder
	entry(&b, "note", "Tells something; alone, or beside any other step.")
	b.WriteString("      - note: The operator adds the second key.\n")
	for _, s := range r.steps {
		entry(&b, s.Name, s.Doc)
		for i, line := range strings.Split(s.Usage, "\n") {
			lead := "        "
			if i == 0 {
				lead = "      - "
			}
			b.WriteString(lead + line + "\n")
		}
	}
	return b.String()
}
