package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// FaultKnobs are the knobs of all kinds of fault. Each kind has those that
// `seedbed list faults` shows; a knob left out has the kind's default.
type FaultKnobs struct {
	Target string
	Rate   *Rate
	Every  *Duration
	Span   *Span
	Mean   *Duration
	Verb   string
	Key    string
	Limit  *int64
	From   *Duration
	Until  *Duration
}

// knobForm describes one knob in a file.
type knobForm struct {
	name string
	doc  string
	// always is set for knobs that every kind of fault has.
	always bool
	// background is set for knobs that make no sense in a step.
	background bool
	value      func(*FaultKnobs) reflect.Value
}

// knobForms lists the knobs in the order worth reading.
var knobForms = []knobForm{
	{"target", "What is struck: names of processes, nodes or API servers, separated by commas; * stands for anything. All by default.", true, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Target).Elem() }},
	{"rate", "The chance at each opportunity.", true, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Rate).Elem() }},
	{"every", "The virtual time between two opportunities.", false, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Every).Elem() }},
	{"span", "How long it lasts, or the delay it adds: one duration, or a range.", false, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Span).Elem() }},
	{"mean", "With a range as span: its mean, so that short spans are more frequent than long ones.", false, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Mean).Elem() }},
	{"verb", "Only API calls with this verb: get, list, watch, create, update, patch or delete.", false, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Verb).Elem() }},
	{"key", "Only API calls for objects that match: secrets/kube-system/*, nodes/node-1.", false, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Key).Elem() }},
	{"limit", "A size or a count.", false, false,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Limit).Elem() }},
	{"from", "When it may strike first, counted from the start of the run.", true, true,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.From).Elem() }},
	{"until", "When it stops striking, counted from the start of the run.", true, true,
		func(k *FaultKnobs) reflect.Value { return reflect.ValueOf(&k.Until).Elem() }},
}

// FaultInfo describes a kind of fault for people.
type FaultInfo struct {
	Name, Meaning string
	Knobs         []KnobInfo // beside those that every fault has, unless they have a default
}

// KnobInfo describes one knob of a fault.
type KnobInfo struct{ Name, Meaning, Default string }

// Faults returns the registered kinds of fault, sorted by name.
func (r *Registry) Faults() []FaultInfo {
	var infos []FaultInfo
	for _, kind := range cluster.FaultKinds() {
		info := FaultInfo{Name: kind.Name, Meaning: kind.Meaning}
		for _, knob := range knobsOf(kind) {
			value := defaultOf(kind, knob.name)
			if !knob.always || value != "" {
				info.Knobs = append(info.Knobs, KnobInfo{knob.name, knob.doc, value})
			}
		}
		infos = append(infos, info)
	}
	return infos
}

// commonKnobs are the knobs that every fault has.
func commonKnobs() []KnobInfo {
	var infos []KnobInfo
	for _, knob := range knobForms {
		if knob.always {
			infos = append(infos, KnobInfo{Name: knob.name, Meaning: knob.doc})
		}
	}
	return infos
}

// defaultOf is the default of a knob as a scenario writes it, or empty.
func defaultOf(kind *cluster.FaultKind, knob string) string {
	switch d := kind.Default; {
	case knob == "rate" && d.Rate > 0:
		return Rate(d.Rate).String()
	case knob == "every" && d.Every > 0:
		return shortDuration(d.Every)
	case knob == "span" && d.Span.Max > 0:
		return Span{d.Span.Min, d.Span.Max}.String()
	case knob == "mean" && d.Span.Mean > 0:
		return shortDuration(d.Span.Mean)
	case knob == "limit" && d.Limit != 0:
		return fmt.Sprint(d.Limit)
	}
	return ""
}

func (r *Registry) faultNames() []string {
	var names []string
	for _, kind := range cluster.FaultKinds() {
		names = append(names, kind.Name)
	}
	return names
}

// knobsOf lists the knobs that a kind has, with its own words for them.
func knobsOf(kind *cluster.FaultKind) []knobForm {
	var knobs []knobForm
	for _, knob := range knobForms {
		looked := knob.name
		if looked == "mean" {
			looked = "span"
		}
		i := slices.IndexFunc(kind.Knobs, func(k cluster.Knob) bool {
			return slices.Contains(strings.Split(strings.ReplaceAll(k.Name, " ", ""), ","), looked)
		})
		if i < 0 && (!knob.always || !looksAt(kind, knob.name)) {
			continue
		}
		if i >= 0 && kind.Knobs[i].Name == knob.name {
			knob.doc = capital(kind.Knobs[i].Meaning) + "."
		}
		knobs = append(knobs, knob)
	}
	return knobs
}

// looksAt reports whether a kind looks at a knob that it does not list: faults
// that have no opportunities have no rate either, and some strike no one thing.
func looksAt(kind *cluster.FaultKind, knob string) bool {
	switch site := kind.Sites[0]; knob {
	case "rate":
		return site != cluster.SiteHeld
	case "target":
		return site != cluster.SiteHeld && site != cluster.SiteTimed
	}
	return true
}

// knobsFor lists the knobs that a fault has in a step, or in the background.
func knobsFor(fault string, step bool) []knobForm {
	return slices.DeleteFunc(knobsOf(cluster.LookupFault(fault)), func(k knobForm) bool { return step && k.background })
}

// decodeKnobs reads the knobs of one fault.
func (r *Registry) decodeKnobs(d *form.Decoder, fault string, step bool, at form.Place, out *FaultKnobs) {
	knobs := knobsFor(fault, step)
	names := make([]string, len(knobs))
	for i, knob := range knobs {
		names[i] = knob.name
	}
	d.Mapping(at, "a mapping with knobs of "+fault+": "+strings.Join(names, ", "), func(name string, key, value form.Place) {
		i := slices.Index(names, name)
		switch {
		case i < 0 && step && (name == "from" || name == "until"):
			d.Fail(key, "%s goes with faults.add; in a step the fault begins at once, and a stopFault step ends it", name)
			return
		case i < 0:
			d.FailName(key, name, names, "the fault %s has no knob %q", fault, name)
			return
		}
		d.Into(value, knobs[i].value(out))
	})
	if out.Mean != nil && (out.Span == nil || out.Mean.Std() < out.Span.Min || out.Mean.Std() > out.Span.Max) {
		d.Fail(at, "mean must lie within the range given as span")
	}
}

// knobsSchema describes the knobs of one fault.
func (r *Registry) knobsSchema(g *form.Generator, fault string, step bool) *jsonschema.Schema {
	kind := cluster.LookupFault(fault)
	object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	var none FaultKnobs
	for _, knob := range knobsFor(fault, step) {
		object.Properties.Set(knob.name, form.WithDoc(g.Of(knob.value(&none).Type()), knob.doc))
	}
	return &jsonschema.Schema{Description: kind.Meaning, AnyOf: []*jsonschema.Schema{{Type: "null"}, object}}
}

// fault is the use as the cluster takes it.
func (u FaultUse) fault() cluster.Fault {
	k := u.Knobs
	f := cluster.Fault{Kind: u.Name, Target: k.Target, Verb: k.Verb, Key: k.Key}
	if k.Rate != nil {
		f.Rate = engine.Prob(*k.Rate)
	}
	if k.Every != nil {
		f.Every = k.Every.Std()
	}
	if k.Span != nil {
		f.Span = k.Span.dist()
	}
	if k.Mean != nil {
		f.Span.Mean = k.Mean.Std()
	}
	if k.Limit != nil {
		f.Limit = *k.Limit
	}
	if k.From != nil {
		f.From = k.From.Std()
	}
	if k.Until != nil {
		f.Until = k.Until.Std()
	}
	return f
}

// background is the trouble that goes on behind the story of a scenario.
// They cease for good when the world becomes calm, not at a fixed time.
func (r *Registry) background(s *Scenario) cluster.Profile {
	var p cluster.Profile
	if preset := r.profile(s.Faults.Profile); preset != nil {
		p = preset().Until(0)
	}
	for _, name := range s.Faults.Remove {
		p = p.Without(string(name))
	}
	for _, use := range s.Faults.Add {
		p.Faults = append(p.Faults, use.fault())
	}
	if s.Faults.Until != nil {
		for i := range p.Faults {
			if f := &p.Faults[i]; f.Until == 0 || f.Until > s.Faults.Until.Std() {
				f.Until = s.Faults.Until.Std()
			}
		}
	}
	return p
}
