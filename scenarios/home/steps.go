package home

import (
	"fmt"
	"path"

	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// DeleteArgs say how a Pod is deleted.
type DeleteArgs struct {
	Pod   string `yaml:"pod" form:"required,short" doc:"Name of the Pod, such as grant-0."`
	Force bool   `yaml:"force" doc:"Delete the object at once."`
}

// ReplaceArgs say how a Pod is replaced.
type ReplaceArgs struct {
	Pod   string `yaml:"pod" form:"required,short" doc:"Name of the Pod, such as grant-0."`
	Force bool   `yaml:"force" doc:"Delete the object at once, while the container may run on until its grace is over."`
}

// FlapArgs say what the API server answers.
type FlapArgs struct {
	Pod   string `yaml:"pod" form:"required,short" doc:"Name of the Pod, such as grant-0."`
	Times int    `yaml:"times" form:"min=1" doc:"How many reads are answered so; one by default."`
	Path  bool   `yaml:"path" doc:"Answer that the path is unknown, as a server does that is starting, rather than that the Pod is not there."`
}

// ClaimArgs say what happens to a claim.
type ClaimArgs struct {
	Pod string `yaml:"pod" form:"required" doc:"Name of the Pod whose claim it is."`
	Do  string `yaml:"do" form:"required" enum:"delete release replace go-with-pod" doc:"delete it, while it is in use; release it, so that it goes; replace it by another of the same name; or let it go with its Pod just before it is read."`
}

// ServeArgs say what is served.
type ServeArgs struct {
	Version string `yaml:"version" form:"required,short" enum:"v1 v1beta2 v1beta1 v1alpha3 none" doc:"The version of resource.k8s.io, or none."`
}

// IssuerArgs say how the issuer behaves from now on; what is left out is well.
type IssuerArgs struct {
	Status     int            `yaml:"status" doc:"The status that it answers a request for a grant with."`
	RetryAfter string         `yaml:"retryAfter" doc:"Seconds after which it wants to be asked again."`
	Down       bool           `yaml:"down" doc:"It refuses connections."`
	Silent     bool           `yaml:"silent" doc:"It never answers."`
	Latency    scenarios.Span `yaml:"latency" doc:"How long it takes over an answer."`
	Grant      string         `yaml:"grant" enum:"garbage truncated too-large other-pod other-key expired never-expires" doc:"What is wrong with the grants that it makes."`
	Keys       int            `yaml:"keys" doc:"The status that it answers a request for its keys with."`
}

// FileArgs name a file in a Pod's grants directory.
type FileArgs struct {
	Pod  string `yaml:"pod" form:"required" doc:"Name of the Pod."`
	Name string `yaml:"name" form:"required" doc:"Name of the file, such as extra.jwt."`

	Generation int `yaml:"generation" form:"min=0" doc:"Which one of the Pods of this name; the latest by default."`
}

// DropArgs name a new file in a Pod's grants directory.
type DropArgs struct {
	Pod  string `yaml:"pod" form:"required" doc:"Name of the Pod."`
	Name string `yaml:"name" form:"required" doc:"Name of the file, such as extra.jwt."`
	Own  bool   `yaml:"own" doc:"A copy of the Pod's own grant, rather than another grant."`
}

// OverrideArgs are what a test tells an agent.
type OverrideArgs struct {
	Pod       string `yaml:"pod" form:"required" doc:"Name of the Pod."`
	Reachable bool   `yaml:"reachable" doc:"Whether the control plane is to count as reachable."`
	InRound   bool   `yaml:"inRound" doc:"Do it at the moment when a round holds the API server's answer."`
}

func steps() []scenarios.StepKind {
	return []scenarios.StepKind{
		scenarios.NewStep("delete", "Deletes a grant Pod.", "home.delete: grant-0", deleteStep),
		scenarios.NewStep("replace", "Deletes a grant Pod; when its object is gone, another of the same name is made.",
			"home.replace: {pod: grant-0, force: true}", replaceStep),
		scenarios.NewStep("flap", "Lets the API server answer 404 for a Pod that is there.", "home.flap: grant-0", flapStep),
		scenarios.NewStep("claim", "Does something to the ResourceClaim of a Pod.", "home.claim: {pod: grant-0, do: delete}", claimStep),
		scenarios.NewStep("serve", "Lets the API servers serve another version of resource.k8s.io, or none.", "home.serve: v1beta1", serveStep),
		scenarios.NewStep("issuer", "Lets the issuer of grants behave in another way.", "home.issuer: {status: 503}", issuerStep),
		scenarios.NewStep("rotateKey", "Lets the issuer sign with a new key.", "home.rotateKey:", rotateKeyStep),
		scenarios.NewStep("drop", "Somebody puts another grant for the Pod into its grants directory.",
			"home.drop: {pod: grant-0, name: extra.jwt}", dropStep),
		scenarios.NewStep("remove", "Somebody removes a file from a Pod's grants directory.",
			"home.remove: {pod: grant-0, name: extra.jwt}", removeStep),
		scenarios.NewStep("override", "Tells the home that the control plane is reachable or not, as tests do behind the admin socket.",
			"home.override: {pod: grant-0, reachable: false}", overrideStep),
		scenarios.NewStep("hostile", "Lets a hostile world loose on all Pods.", "home.hostile: {for: 6h, every: 10s..5m}", beHostile),
	}
}

// pod returns the slot that a step names.
func (s *State) pod(name string) (*slot, error) {
	if sl := s.slotOf(name); sl != nil {
		return sl, nil
	}
	return nil, fmt.Errorf("there is no Pod %q; there are grant-0 to %s", name, podName(len(s.slots)-1))
}

func deleteStep(st *scenarios.Story, s *State, args DeleteArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	st.Tell(sl.name, "deletes Pod %s", sl.name)
	return s.deletePod(sl, args.Force)
}

func replaceStep(st *scenarios.Story, s *State, args ReplaceArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	st.Tell(sl.name, "replaces Pod %s", sl.name)
	return s.replacePod(sl, args.Force)
}

func (s *State) replacePod(sl *slot, force bool) error {
	sl.replacement = true
	return s.deletePod(sl, force)
}

func flapStep(st *scenarios.Story, s *State, args FlapArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	st.Tell(sl.name, "lets the API server answer 404 for Pod %s", sl.name)
	sl.flaps = append(sl.flaps, flap{path: args.Path, times: max(args.Times, 1)})
	return nil
}

func claimStep(st *scenarios.Story, s *State, args ClaimArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	st.Tell(sl.name, "does this to the claim of Pod %s: %s", sl.name, args.Do)
	switch args.Do {
	case "delete":
		return s.devices.delete(s, sl)
	case "release":
		return s.devices.release(s, sl, nil)
	case "replace":
		return s.replaceClaim(sl)
	}
	sl.ambush = func() {
		pod := sl.pod
		if err := s.deletePod(sl, true); err != nil {
			s.world.Say("%s", err)
		}
		if err := s.devices.collect(s, pod); err != nil {
			s.world.Say("%s", err)
		}
	}
	return nil
}

// replaceClaim makes a named claim again, faster than anybody looks.
func (s *State) replaceClaim(sl *slot) error {
	if err := s.devices.delete(s, sl); err != nil {
		return err
	}
	if err := s.devices.release(s, sl, nil); err != nil {
		return err
	}
	return s.devices.create(s, sl.name+"-"+requestName, nil)
}

func serveStep(st *scenarios.Story, s *State, args ServeArgs) error {
	st.Tell("resource.k8s.io", "lets the API servers serve resource.k8s.io in this version: %s", args.Version)
	s.serve(args.Version)
	return nil
}

// serve sets the version of resource.k8s.io that is served.
func (s *State) serve(version string) {
	if s.served = version; version == "none" {
		s.served = ""
	}
}

func issuerStep(st *scenarios.Story, s *State, args IssuerArgs) error {
	what := "behaves well"
	if args != (IssuerArgs{}) {
		what = fmt.Sprintf("behaves like this: %+v", args)
	}
	st.Tell("issuer", "the issuer %s", what)
	s.controller.behave(args)
	return nil
}

// behave makes the issuer behave so and not otherwise.
func (c *controller) behave(args IssuerArgs) {
	c.down, c.silent, c.latency = args.Down, args.Silent, args.Latency
	c.issuer.BehaveWell()
	if args.Status != 0 || args.Grant != "" {
		c.issuer.Behave(issuer.Behaviour{
			Times: issuer.Always, Status: args.Status, RetryAfter: args.RetryAfter,
			Garbage: args.Grant == "garbage", Truncated: args.Grant == "truncated", TooLarge: args.Grant == "too-large",
			WrongUID: args.Grant == "other-pod", WrongKey: args.Grant == "other-key",
			Expired: args.Grant == "expired", NoExpiry: args.Grant == "never-expires",
		})
	}
	if args.Keys != 0 {
		for _, at := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
			c.issuer.Behave(issuer.Behaviour{Times: issuer.Always, Path: at, Status: args.Keys})
		}
	}
}

// RotateKeyArgs are none.
type RotateKeyArgs struct{}

func rotateKeyStep(st *scenarios.Story, s *State, _ RotateKeyArgs) error {
	st.Tell("issuer", "the issuer signs with a new key")
	s.controller.issuer.RotateKey()
	return nil
}

func dropStep(st *scenarios.Story, s *State, args DropArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	st.Tell(sl.name, "somebody puts %s into the grants directory of Pod %s", args.Name, sl.name)
	v := sl.pod.volumes
	if !args.Own || v == nil {
		return s.drop(sl, args.Name)
	}
	own, err := v.node.Disk().ReadFile(path.Join(v.grants(), grantName))
	if err != nil {
		return err
	}
	return v.put(args.Name, own)
}

// drop puts a grant of another UID into a Pod's directory.
func (s *State) drop(sl *slot, name string) error {
	v := sl.pod.volumes
	if v == nil || v.gone {
		return notRunning(sl)
	}
	s.drops++
	token, err := s.controller.issuer.Issue(issuer.Pod{Name: sl.name, UID: fmt.Sprintf("extra-%d", s.drops)})
	if err != nil {
		return fmt.Errorf("issue a grant: %w", err)
	}
	s.learnGrant(token)
	return v.put(name, []byte(token))
}

func notRunning(sl *slot) error { return fmt.Errorf("pod %s does not run", sl.name) }

// put puts a file into the grants directory, as a whole.
func (v *volumes) put(name string, token []byte) error {
	disk := v.node.Disk()
	temp := path.Join(v.grants(), ".dropped")
	if err := disk.WriteFile(temp, token); err != nil {
		return err
	}
	if err := disk.Rename(temp, path.Join(v.grants(), name)); err != nil {
		return err
	}
	return v.dir.look(false)
}

func removeStep(st *scenarios.Story, s *State, args FileArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	st.Tell(sl.name, "somebody removes %s from the grants directory of Pod %s", args.Name, sl.name)
	pod := sl.pod
	if n := args.Generation; n > 0 {
		if n > len(sl.all) {
			return fmt.Errorf("there have been %d Pods of the name %s", len(sl.all), sl.name)
		}
		pod = sl.all[n-1]
	}
	return remove(pod, args.Name)
}

func remove(pod *grantPod, name string) error {
	v := pod.volumes
	if v == nil || v.gone {
		return notRunning(pod.slot)
	}
	if err := v.node.Disk().Remove(path.Join(v.grants(), name)); err != nil {
		return err
	}
	if name == grantName {
		v.dir.had = false
	}
	return v.dir.look(false)
}

func overrideStep(st *scenarios.Story, s *State, args OverrideArgs) error {
	sl, err := s.pod(args.Pod)
	if err != nil {
		return err
	}
	l := sl.running()
	if l == nil {
		return fmt.Errorf("no home runs in Pod %s", sl.name)
	}
	st.Tell(sl.name, "tells the home of Pod %s that the control plane is reachable: %t", sl.name, args.Reachable)
	if args.InRound {
		sl.surprise = func() { l.override(args.Reachable) }
		return nil
	}
	l.override(args.Reachable)
	return nil
}

// running returns the home that runs in the latest Pod of a slot, or nil.
func (sl *slot) running() *life {
	if n := len(sl.pod.lives); n > 0 && sl.pod.lives[n-1].watched() {
		return sl.pod.lives[n-1]
	}
	return nil
}
