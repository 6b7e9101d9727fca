package scenarios

import (
	"errors"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// Values that a scenario need not write.
const (
	defaultSeeds   = 20
	defaultHorizon = 10 * time.Minute
	longestHorizon = 30 * 24 * time.Hour
)

// check judges what no single field can: names that refer to each other,
// conditions, and combinations. Everything wrong goes to d.
func (r *Registry) check(d *form.Decoder, file *File) {
	s := &file.Scenario
	root := form.Place{Node: d.Doc.Root}
	if s.Metadata.Name != "" && !plainName.MatchString(s.Metadata.Name) {
		d.Fail(at(root, "metadata", "name"), "%q is not a name; write lower-case words joined by dashes", s.Metadata.Name)
	}
	r.checkExplore(d, root, s)
	for _, use := range s.Systems {
		system := r.system(use.Name)
		file.systems = append(file.systems, system)
		if system.Check.run != nil && len(d.Problems()) == 0 {
			if err := system.Check.run(use.Config, s.Cluster); err != nil {
				d.Fail(blamed(root, use, err), "%v", err)
			}
		}
	}
	if len(s.Systems) == 0 && s.Systems != nil {
		d.Fail(at(root, "systems"), "no system is named; known are %s", shortList(r.systemNames()))
	}
	r.checkProperties(d, file)
	r.checkSteps(d, s, s.Steps)
	r.checkRefs(d, file)
	r.checkFaults(d, file)
	r.compile(d, file)
}

// blamed is the place that a system's check complains about: its own entry, or
// the cluster's if that is written.
func blamed(root form.Place, use SystemUse, err error) form.Place {
	var wrong *ClusterError
	place, written := child(root, "cluster")
	if !written || !errors.As(err, &wrong) {
		return use.Place
	}
	return at(place, wrong.Field)
}

func (r *Registry) checkExplore(d *form.Decoder, root form.Place, s *Scenario) {
	if s.Explore.Seeds == 0 {
		s.Explore.Seeds = defaultSeeds
	}
	horizon := s.Explore.Horizon.Std()
	switch {
	case horizon == 0:
		s.Explore.Horizon = Duration(defaultHorizon)
	case horizon > longestHorizon:
		d.Fail(at(root, "explore", "horizon"), "%v is longer than 30 days, the longest run", s.Explore.Horizon)
	}
	if r.profile(s.Faults.Profile) == nil && s.Faults.Profile != "" {
		d.FailName(at(root, "faults", "profile"), s.Faults.Profile, r.profileNames(), "unknown profile %q", s.Faults.Profile)
	}
}

// at descends to a field, or as far as it exists.
func at(place form.Place, path ...string) form.Place {
	for _, name := range path {
		next, ok := child(place, name)
		if !ok {
			return place
		}
		place = next
	}
	return place
}

// checkProperties resolves the names and judges the scenario's own conditions.
func (r *Registry) checkProperties(d *form.Decoder, file *File) {
	taken := map[string]bool{}
	if file.Scenario.Properties != nil && len(file.Scenario.Properties) == 0 {
		d.Fail(at(form.Place{Node: d.Doc.Root}, "properties"), "no property is named: a run would check nothing")
	}
	for i := range file.Scenario.Properties {
		use := &file.Scenario.Properties[i]
		if use.Library != "" {
			r.useLibrary(d, file, use, taken)
			continue
		}
		if use.Place.Node == nil {
			continue
		}
		if checkOwn(d, use) {
			if taken[use.Name] || r.Property(use.Name) != nil {
				d.Fail(at(use.Place, "name"), "there already is a property named %q", use.Name)
				continue
			}
			taken[use.Name] = true
			file.own = append(file.own, use)
		}
	}
	expected := file.Scenario.Expect.Violates
	if p := r.Property(expected); p != nil && p.check != nil && !taken[expected] {
		d.Fail(file.Scenario.Expect.Place, "%s is not among the properties of this scenario, so no run would check it", expected)
	}
}

func (r *Registry) useLibrary(d *form.Decoder, file *File, use *PropertyUse, taken map[string]bool) {
	if use.Own() || use.Name != "" || use.Why != "" || use.Within != nil {
		d.Fail(use.Place, "an entry is either a library property or a condition of its own, not both")
	}
	found := r.matching(string(use.Library))
	for _, p := range found {
		if slices.Contains(use.Except, PropertyName(p.Name)) || taken[p.Name] {
			continue
		}
		taken[p.Name] = true
		if p.System != "" && !file.uses(p.System) {
			d.Fail(use.Place, "the property %s belongs to the system %s, which this scenario does not run", p.Name, p.System)
			return
		}
		file.properties = append(file.properties, p)
	}
}

func (f *File) uses(system string) bool {
	return slices.ContainsFunc(f.Scenario.Systems, func(u SystemUse) bool { return u.Name == system })
}

// checkOwn judges a property that the scenario itself states.
func checkOwn(d *form.Decoder, use *PropertyUse) bool {
	conditions := 0
	for _, e := range []*Expr{use.Always, use.Never, use.Eventually} {
		if e != nil {
			conditions++
		}
	}
	switch {
	case conditions != 1:
		d.Fail(use.Place, "a property is a library name, or has exactly one of always, never and eventually")
	case use.Name == "":
		d.Fail(use.Place, "the property has no name")
	case !plainName.MatchString(use.Name):
		d.Fail(at(use.Place, "name"), "%q is not a name; write lower-case words joined by dashes", use.Name)
	case use.Why == "":
		d.Fail(use.Place, "the field \"why\" is missing: what does it mean when this property is violated?")
	case use.Eventually != nil && use.Within == nil:
		d.Fail(use.Place, "eventually needs within: the virtual time allowed once the story is told and faults have ceased")
	case use.Eventually == nil && use.Within != nil:
		d.Fail(at(use.Place, "within"), "within goes with eventually; always and never hold at all times")
	case len(use.Except) > 0:
		d.Fail(at(use.Place, "except"), "except goes with library")
	default:
		return true
	}
	return false
}

// checkSteps judges combinations inside steps.
func (r *Registry) checkSteps(d *form.Decoder, s *Scenario, steps []Step) {
	for _, step := range steps {
		kind := r.step(step.Verb)
		if kind != nil && kind.System != "" && !slices.ContainsFunc(s.Systems, func(u SystemUse) bool { return u.Name == kind.System }) {
			d.Fail(step.Place, "the step %s belongs to the system %s, which this scenario does not run", kind.Name, kind.System)
		}
		switch args := step.Args.(type) {
		case *ObjectName:
			r.checkObjectName(d, step, args)
		case *PatchArgs:
			r.checkObjectName(d, step, &args.ObjectName)
			if (args.Merge == nil) == (args.JSON == nil) {
				d.Fail(step.Place, "patch needs either merge or json")
			}
		case *ClockArgs:
			if args.Step == nil && args.Drift == nil {
				d.Fail(step.Place, "clock needs step or drift")
			}
		case *PauseArgs:
			if slices.Contains(s.Cluster.serverNames(), string(args.Target)) {
				d.Fail(step.Place, "an API server cannot be paused; use stop and start")
			}
		case *RepeatArgs:
			r.checkSteps(d, s, args.Steps)
		case *TogetherArgs:
			if len(args.Branches) < 2 {
				d.Fail(step.Place, "together needs two branches or more")
			}
			for _, branch := range args.Branches {
				r.checkSteps(d, s, branch)
			}
		}
	}
}

func (r *Registry) checkObjectName(d *form.Decoder, step Step, name *ObjectName) {
	kind, ok := kindsOf(d, r.kinds).lookup(string(name.Kind))
	if !ok || name.Name == "" {
		return // told already
	}
	text := name.Name
	if name.Namespace != "" {
		text = name.Namespace + "/" + name.Name
	}
	if err := kind.checkName(text); err != nil {
		d.Fail(step.Place, "%v", err)
	}
}

// checkRefs refuses names of things that do not exist.
func (r *Registry) checkRefs(d *form.Decoder, file *File) {
	allowed := r.referable(file)
	for _, ref := range d.Refs {
		names, known := allowed[ref.Kind]
		if !known || slices.Contains(names, ref.Name) {
			continue
		}
		switch {
		case len(names) == 0:
			d.Fail(ref.Place, "no %s is named %q: this scenario has none", ref.Kind, ref.Name)
		default:
			d.FailName(ref.Place, ref.Name, names, "no %s is named %q", ref.Kind, ref.Name)
		}
	}
}

// referable lists, for each kind of reference, the names that exist.
func (r *Registry) referable(file *File) map[string][]string {
	s := &file.Scenario
	nodes, servers := s.Cluster.NodeNames(), s.Cluster.serverNames()
	processes := file.processNames()
	var library, patterns, properties []string
	for _, p := range r.properties {
		library = append(library, p.Name)
		if p.System == "" || file.uses(p.System) {
			properties = append(properties, p.Name)
		}
	}
	for _, system := range r.systems {
		patterns = append(patterns, system.Name+".*")
	}
	for _, use := range file.own {
		properties = append(properties, use.Name)
	}
	return map[string][]string{
		refNode:            append([]string{AnyNode}, nodes...),
		refProcess:         processes,
		refTarget:          slices.Concat([]string{AnyNode}, nodes, processes, servers),
		refPeer:            append(nodes, controlPlane),
		refProperty:        properties,
		refPropertyPattern: append(patterns, library...),
		refFault:           r.faultNames(),
		refController:      controllerNames(),
	}
}

// compile compiles every condition of the file.
func (r *Registry) compile(d *form.Decoder, file *File) {
	c, err := newConditions(file.kinds, file.systems)
	if err != nil {
		d.Fail(form.Place{Node: d.Doc.Root}, "%v", err)
		return
	}
	for _, use := range file.own {
		for _, e := range []*Expr{use.Always, use.Never, use.Eventually} {
			if e != nil {
				c.compile(e, d)
			}
		}
	}
	eachStep(file.Scenario.Steps, func(step Step) {
		switch args := step.Args.(type) {
		case *WaitArgs:
			c.compileWritten(&args.For, d)
		case *AssertArgs:
			c.compileWritten(&args.That, d)
		}
	})
}

// compileWritten compiles a condition that may have been left out, which was
// told already.
func (c *conditions) compileWritten(e *Expr, d *form.Decoder) {
	if e.Place.Node != nil {
		c.compile(e, d)
	}
}

// eachStep visits steps and the steps inside them.
func eachStep(steps []Step, visit func(Step)) {
	for _, step := range steps {
		visit(step)
		switch args := step.Args.(type) {
		case *RepeatArgs:
			eachStep(args.Steps, visit)
		case *TogetherArgs:
			for _, branch := range args.Branches {
				eachStep(branch, visit)
			}
		}
	}
}
