package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// limits bounds the knob limit of each kind that has it. Zero is never allowed:
// the cluster takes it for the default.
var limits = map[string]struct{ min, max int64 }{
	"api-error-429": {-1, 3600},
	"clock-skew":    {1, 366 * 24 * 3600},
	"clock-drift":   {1, maxDrift},
}

// checkKnobs refuses values of one fault that would mean something else than
// they seem to: the cluster takes zero for "the default".
func checkKnobs(d *form.Decoder, fault string, place form.Place, k *FaultKnobs) {
	refuse := func(knob, format string, args ...any) {
		if there := at(place, knob); !d.Failed(there) {
			d.Fail(there, format, args...)
		}
	}
	none := func(v *Duration) bool { return v != nil && *v == 0 }
	if k.Rate != nil && *k.Rate == 0 {
		refuse("rate", "0%% never strikes; leave the fault out")
	}
	if none(k.Every) {
		refuse("every", "there must be time between two opportunities")
	}
	if k.Span != nil && k.Span.Max == 0 {
		refuse("span", "a span of no time has no effect; leave the fault out")
	}
	if none(k.Mean) {
		refuse("mean", "a mean must be longer than 0s")
	}
	if none(k.Until) {
		refuse("until", "the fault would end before it begins; leave it out")
	}
	if k.From != nil && k.Until != nil && *k.Until != 0 && *k.From >= *k.Until {
		refuse("until", "until %v is not after from %v", *k.Until, *k.From)
	}
	if k.Limit != nil {
		b := limits[fault]
		switch n := *k.Limit; {
		case n == 0:
			refuse("limit", "0 is not a limit; leave the fault out, or the knob for the default")
		case n < b.min || n > b.max:
			refuse("limit", "expected a whole number from %d to %d, got %d", b.min, b.max, n)
		}
	}
	checkVerb(d, at(place, "verb"), k.Verb)
}

// apiVerbs are the verbs of API calls, and subresources what may follow them.
var (
	apiVerbs = []string{
		string(apiserver.Get), string(apiserver.List), string(apiserver.WatchVerb), string(apiserver.Create),
		string(apiserver.Update), string(apiserver.Patch), string(apiserver.Delete), string(apiserver.DeleteCollection),
	}
	subresources = []string{"status", "scale", "eviction", "binding"}
)

func checkVerb(d *form.Decoder, place form.Place, text string) {
	verb, sub, written := strings.Cut(text, "/")
	switch {
	case text == "":
	case !slices.Contains(apiVerbs, verb):
		d.FailName(place, verb, apiVerbs, "%q is not a verb of the API", verb)
	case written && !slices.Contains(subresources, sub):
		d.FailName(place, sub, subresources, "%q is not a subresource", sub)
	}
}

// checkFaults judges what takes the whole file to know: which targets exist, and
// when background faults end.
func (r *Registry) checkFaults(d *form.Decoder, file *File) {
	s := &file.Scenario
	all := s.Faults.Until
	if all != nil && *all == 0 {
		if there := at(form.Place{Node: d.Doc.Root}, "faults", "until"); !d.Failed(there) {
			d.Fail(there, "background faults would end before they begin; leave them out")
		}
		all = nil
	}
	there := file.targets()
	for _, use := range s.Faults.Add {
		r.checkFault(d, there, use)
		if from := use.Knobs.From; from != nil && all != nil && *from >= *all {
			d.Fail(at(use.Place, use.Name, "from"), "from %v is not before %v, when all background faults end (faults.until)", *from, *all)
		}
	}
	eachStep(s.Steps, func(step Step) {
		if args, ok := step.Args.(*StartFaultArgs); ok {
			r.checkFault(d, there, FaultUse(*args))
		}
	})
}

// targets are the names of what faults may strike.
type targets struct {
	nodes, servers, processes []string
	visitors                  bool // there may be clients outside of the simulation, of any name
}

func (f *File) targets() targets {
	c := f.Scenario.Cluster
	return targets{nodes: c.NodeNames(), servers: c.serverNames(), processes: f.processNames()}
}

func (r *Registry) checkFault(d *form.Decoder, there targets, use FaultUse) {
	kind := cluster.LookupFault(use.Name)
	if kind == nil {
		return // told already
	}
	before := len(d.Problems())
	checkKnobs(d, use.Name, at(use.Place, use.Name), &use.Knobs)
	r.checkKey(d, at(use.Place, use.Name, "key"), use.Knobs.Key)
	checkTarget(d, at(use.Place, use.Name, "target"), use.Knobs.Target, kind, there)
	if len(d.Problems()) > before {
		return
	}
	if err := use.fault().Validate(); err != nil {
		d.Fail(use.Place, "%v", err)
	}
}

// checkKey refuses the kind where its resource belongs: "Secret/…" never matches.
func (r *Registry) checkKey(d *form.Decoder, place form.Place, key string) {
	for pattern := range strings.SplitSeq(key, ",") {
		resource, _, _ := strings.Cut(strings.TrimSpace(pattern), "/")
		kinds := kindsOf(d, r.kinds)
		for _, name := range kinds.names() {
			kind, _ := kinds.lookup(name)
			if strings.EqualFold(resource, name) && resource != kind.GVR.Resource {
				d.Fail(place, "%q is a kind; write its resource: %s", resource, strings.Replace(pattern, resource, kind.GVR.Resource, 1))
				break
			}
		}
	}
}

// checkTarget refuses patterns that match nothing that the fault strikes.
func checkTarget(d *form.Decoder, place form.Place, target string, kind *cluster.FaultKind, there targets) {
	if target == "" {
		return
	}
	var names []string
	what := kind.Strikes
	switch what {
	case "link":
		checkLinks(d, place, target, append(there.nodes, controlPlane))
		return
	case "node":
		names = there.nodes
		if strings.HasPrefix(kind.Name, "clock-") { // the only ones that strike it
			names = append(names, controlPlane)
		}
	case "instance":
		names, what = there.servers, "API server"
	default:
		names = there.processes
	}
	for pattern := range strings.SplitSeq(target, ",") {
		pattern = strings.TrimSpace(pattern)
		if matches(pattern, names) || there.visitors && kind.Strikes == "process" && strings.HasPrefix(pattern, cluster.Outside) {
			continue
		}
		const most = 40 // names that a person reads
		if len(names) > most {
			d.FailNear(place, pattern, names, "%q matches no %s, which is what this fault strikes", pattern, what)
		} else {
			d.FailName(place, pattern, names, "%q matches no %s, which is what this fault strikes", pattern, what)
		}
	}
}

func checkLinks(d *form.Decoder, place form.Place, target string, machines []string) {
	for pattern := range strings.SplitSeq(target, ",") {
		pattern = strings.TrimSpace(pattern)
		from, to, ok := strings.Cut(pattern, ">")
		switch {
		case pattern == "*":
		case !ok:
			d.Fail(place, "%q is not a link; write it as \"node-1>node-2\" or \"node-1>*\"", pattern)
		case !matches(from, machines):
			d.FailNear(place, from, machines, "%q matches no machine", from)
		case !matches(to, machines):
			d.FailNear(place, to, machines, "%q matches no machine", to)
		}
	}
}

// matches reports whether any name fits a pattern in which * stands for any run
// of characters.
func matches(pattern string, names []string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	fits := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
	return slices.ContainsFunc(names, fits.MatchString)
}

// processNames are the processes that the systems start.
func (f *File) processNames() []string {
	var names []string
	if len(f.Scenario.Cluster.Controllers) > 0 {
		names = append(names, cluster.ControllerManager)
	}
	for i, use := range f.Scenario.Systems {
		if system := f.systems[i]; system.Processes.run != nil {
			names = append(names, system.Processes.run(use.Config, f.Scenario.Cluster)...)
		}
	}
	return names
}
