package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/realmode/indexedjob"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// clusterFlags are the flags of seedbed cluster-explore.
type clusterFlags struct {
	exploreFlags
	image      string
	parts      int32
	atOnce     int32
	cpu        float64
	namespace  string
	name       string
	kubeconfig string
	context    string
	keep       bool
	dryRun     bool
}

func (a *app) clusterExploreCommand() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "cluster-explore [PATH|NAME]… --image IMAGE",
		Short: "Explore in the Pods of a Kubernetes cluster",
		Long: `Explore in the Pods of a Kubernetes cluster: an Indexed Job makes the parts of the
search, one in each Pod, and what they find comes back as if it had been found
here: one report, and the replay files of failing runs.

The image is one whose entry point is this program, such as ko build ./cmd/seedbed
makes. Scenarios are sent along, so they need not be in it; each Pod may only
write its results. A Pod that fails is made again, a Pod that is lost loses
nothing that it has already sent.

When this command is interrupted, the Job goes on: the same command follows it
again. When everything has come back, the Job and all that belongs to it is
deleted.

Exit codes: as those of seedbed explore; 3 also if a part is missing.`,
		Example: `  seedbed cluster-explore safe-rotation --image registry.example/seedbed:v1 --for 10m
  seedbed cluster-explore my.yaml --image registry.example/seedbed:v1 --seeds 1000000 --parts 100 --at-once 20 --cpu 2
  seedbed cluster-explore my.yaml --image registry.example/seedbed:v1 --dry-run >job.yaml`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			plan, err := f.check(cmd)
			if err != nil {
				return err
			}
			return a.clusterExplore(cmd.Context(), &f, plan, paths)
		},
	}
	flags := cmd.Flags()
	f.search(flags)
	f.results(flags)
	flags.StringVar(&f.image, "image", "", "the image of the Pods (required)")
	flags.Int32Var(&f.parts, "parts", 8, "number of parts, each made by one Pod, 1 to 1000")
	flags.Int32Var(&f.atOnce, "at-once", 0, "number of Pods at once (default: all)")
	flags.Float64Var(&f.cpu, "cpu", 1, "processors that each Pod asks for, such as 0.5; 0 for none")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the Job (default: that of the kubeconfig)")
	flags.StringVar(&f.name, "name", "", "name of the Job (default: one made of what it does)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file that says which cluster (default: as kubectl)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: the current one)")
	flags.BoolVar(&f.keep, "keep", false, "leave the Job and its results in the cluster")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print the manifests")
	a.completeExplore(cmd)
	cmd.AddCommand(a.clusterWorkerCommand())
	return cmd
}

const partsMax = 1000

var jobName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`)

func (f *clusterFlags) check(cmd *cobra.Command) (scenarios.Exploration, error) {
	var none scenarios.Exploration
	switch {
	case f.image == "":
		return none, badInput("--image is missing: write the image that Pods run, one whose entry point is seedbed")
	case f.parts < 1 || f.parts > partsMax:
		return none, badInput("--parts %d: write into how many parts to cut the search, 1 to %d", f.parts, partsMax)
	case f.atOnce < 0 || f.atOnce > f.parts:
		return none, badInput("--at-once %d: write how many Pods may run at once, 1 to %d, the number of parts", f.atOnce, f.parts)
	case f.cpu < 0:
		return none, badInput("--cpu %v: write how many processors each Pod asks for, such as 0.5, or 0", f.cpu)
	case f.name != "" && !jobName.MatchString(f.name):
		return none, badInput("--name %q: write up to 52 lower-case letters, digits and dashes, such as explore-1", f.name)
	}
	return f.plan(cmd)
}

// scenariosFile is the file of the Pods that has the scenarios.
const scenariosFile = "scenarios.json"

// job is what is run in the cluster. Its name, unless it is given, is made of all that
// it does, so that the same command finds it again.
func (f *clusterFlags) job(files []*scenarios.File) (*indexedjob.Job, error) {
	saved := make([]scenarios.SavedFile, len(files))
	for i, file := range files {
		saved[i] = file.Save()
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return nil, fmt.Errorf("encode the scenarios: %w", err)
	}
	args := []string{"cluster-explore", "worker", "--parts", strconv.Itoa(int(f.parts)), "--strategy", f.strategy, "--first-seed", strconv.FormatUint(f.first, 10), "--shrink", f.shrink.String()}
	if f.seeds > 0 {
		args = append(args, "--seeds", strconv.Itoa(f.seeds))
	}
	if f.time > 0 {
		args = append(args, "--for", f.time.String())
	}
	if f.faults != "" {
		args = append(args, "--faults", f.faults)
	}
	name := f.name
	if name == "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", f.image, args, text))
		name = "seedbed-explore-" + hex.EncodeToString(sum[:4])
	}
	return &indexedjob.Job{
		Namespace: f.namespace, Name: name, Image: f.image, Args: args, Indexes: f.parts, Parallelism: f.atOnce, CPU: f.cpu,
		Final: []int32{exitBadInput, exitEngine},
		Files: map[string][]byte{scenariosFile: text},
	}, nil
}

// connect returns a client of the cluster that a kubeconfig means, and the namespace of
// its context. Inside of a Pod, without a kubeconfig, that is the Pod's own.
func connect(kubeconfig, context string) (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	config, err := loading.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	namespace, _, err := loading.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	kube, err := client.New(config, client.Options{})
	if err != nil {
		return nil, "", fmt.Errorf("reach the cluster: %w", err)
	}
	return kube, namespace, nil
}

func (a *app) clusterExplore(ctx context.Context, f *clusterFlags, plan scenarios.Exploration, paths []string) error {
	files, err := a.read(paths)
	if err != nil {
		return err
	}
	if plan.Faults != "" {
		if _, err := a.registry.Override(plan.Faults); err != nil {
			return badInput("--faults: %v", err)
		}
	}
	var kube client.Client
	if !f.dryRun {
		var namespace string
		if kube, namespace, err = connect(f.kubeconfig, f.context); err != nil {
			return badInput("%v", err)
		}
		if f.namespace == "" {
			f.namespace = namespace
		}
	}
	if f.namespace == "" {
		f.namespace = "default"
	}
	job, err := f.job(files)
	if err != nil {
		return badInput("%v", err)
	}
	if f.dryRun {
		return a.printObjects(job)
	}
	junit, err := openJUnit(f.junit)
	if err != nil {
		return err
	}
	if err := job.Apply(ctx, kube); err != nil {
		return badInput("%v", err)
	}
	style := scenarios.Style{Colour: a.colour, Names: scenarios.NamesWidth(files)}
	fmt.Fprintf(a.out, "job         %s/%s, %s\n", job.Namespace, job.Name, scenarios.Count(int(job.Indexes), "part"))
	fmt.Fprint(a.out, style.Exploring(plan.Search, plan.Faults))
	if err := a.follow(ctx, kube, job); err != nil {
		return err
	}
	return a.gather(ctx, &search{f, job, files, plan.Search, junit}, kube, style)
}

// printObjects prints the manifests of a Job.
func (a *app) printObjects(job *indexedjob.Job) error {
	objects, err := job.Objects()
	if err != nil {
		return badInput("%v", err)
	}
	for _, obj := range objects {
		kind, err := apiutil.GVKForObject(obj, clientscheme.Scheme)
		if err != nil {
			return badInput("%v", err)
		}
		obj.GetObjectKind().SetGroupVersionKind(kind)
		text, err := yaml.Marshal(obj)
		if err != nil {
			return badInput("print %s: %v", kind.Kind, err)
		}
		fmt.Fprintf(a.out, "---\n%s", text)
	}
	return nil
}

// followEvery is how often the Job is looked at.
const followEvery = time.Second

// follow waits until the Job has ended.
func (a *app) follow(ctx context.Context, kube client.Client, job *indexedjob.Job) error {
	line := newLiveLine(a.err, a.terminal)
	status, err := job.Follow(ctx, kube, followEvery, func(s indexedjob.Status, err error) {
		if err != nil {
			line.show(fmt.Sprintf("the cluster does not answer: %v", err))
			return
		}
		line.show(fmt.Sprintf("%d of %d parts done, %d running, %d given up", s.Succeeded, job.Indexes, s.Active, len(s.Failed)))
	})
	line.clear()
	switch {
	case ctx.Err() != nil:
		return &exit{exitInterrupted, fmt.Sprintf("interrupted; Job %s/%s goes on: the same command follows it again, and kubectl -n %s delete job,configmap,role,rolebinding,serviceaccount -l %s=%s ends it",
			job.Namespace, job.Name, job.Namespace, indexedjob.Label, job.Name)}
	case err != nil:
		return &exit{exitEngine, err.Error()}
	case status.Reason != "" && len(status.Failed) == 0:
		return &exit{exitEngine, fmt.Sprintf("Job %s/%s has failed: %s: %s", job.Namespace, job.Name, status.Reason, status.Message)}
	}
	return nil
}

// search is one that a cluster makes.
type search struct {
	flags     *clusterFlags
	job       *indexedjob.Job
	files     []*scenarios.File
	selection explore.Selection
	junit     *os.File // nil: none is wanted
}

// gather tells what all parts have found, and keeps the replay files.
func (a *app) gather(ctx context.Context, s *search, kube client.Client, style scenarios.Style) error {
	job := s.job
	results, err := job.Results(ctx, kube)
	if err != nil {
		return &exit{exitEngine, err.Error()}
	}
	var parts []*scenarios.ExploredPart
	var found []*clusterResult
	var missing []string
	for index := range job.Indexes {
		data, ok := results[index]
		if !ok {
			missing = append(missing, strconv.Itoa(int(index)+1))
			continue
		}
		result, err := decodeResult(data)
		if err != nil {
			return &exit{exitEngine, fmt.Sprintf("part %d: %v", index+1, err)}
		}
		parts, found = append(parts, &result.Explored), append(found, result)
	}
	explored, err := scenarios.MergeExplored(s.files, parts)
	if err != nil {
		return &exit{exitEngine, err.Error()}
	}
	if err := a.printExplored(explored, s.selection, style); err != nil {
		return err
	}
	texts := map[string]string{}
	code, err := a.clusterFindings(explored, found, s.flags, texts)
	if err = errors.Join(err, a.machines(explored, s.junit, texts)); err != nil {
		return err
	}
	if len(missing) > 0 {
		return &exit{exitEngine, fmt.Sprintf("no result of part %s of %d; the Job is left for you to look at: kubectl -n %s describe job %s; seedbed explore --shard PART/%d makes one here",
			strings.Join(missing, ", "), job.Indexes, job.Namespace, job.Name, job.Indexes)}
	}
	if !s.flags.keep {
		if err := job.Delete(ctx, kube); err != nil {
			return &exit{exitEngine, err.Error()}
		}
	}
	if code != exitOK {
		return &exit{code: code}
	}
	return nil
}

// clusterFindings tells the run that decides against each file, as the part that has
// found it has told it, and keeps what belongs to it.
func (a *app) clusterFindings(explored *scenarios.Explored, found []*clusterResult, f *clusterFlags, texts map[string]string) (code int, err error) {
	for _, file := range explored.Files {
		switch {
		case file.Bad == nil:
			continue
		case file.Bad.Result == scenarios.Violated:
			code = max(code, exitViolated)
		case file.Bad.Result == scenarios.BadInput:
			code = max(code, exitBadInput)
			continue
		default:
			code = max(code, exitEngine)
			continue
		}
		name := file.File.Metadata.Name
		i := slices.IndexFunc(found, func(r *clusterResult) bool { return r.Findings[name] != nil && r.Findings[name].Seed == file.Bad.Seed })
		if i < 0 {
			return code, &exit{exitEngine, fmt.Sprintf("the story of %s, seed %d, has not come back", name, file.Bad.Seed)}
		}
		finding := found[i].Findings[name]
		texts[name] = strings.ReplaceAll(finding.Text, folderMark, filepath.Clean(f.replays))
		fmt.Fprint(a.out, texts[name])
		if err := finding.write(f.replays); err != nil {
			return code, badInput("--replays: %v", err)
		}
		if err := a.keepFinding(finding, f); err != nil {
			return code, err
		}
	}
	return code, nil
}

func (a *app) keepFinding(finding *clusterFinding, f *clusterFlags) error {
	if f.saveTo == "" || finding.Replay == "" {
		return nil
	}
	kept, err := keep(filepath.Join(f.replays, finding.Replay), f.saveTo)
	if err != nil {
		return badInput("--save-to: %v", err)
	}
	fmt.Fprintf(a.out, "  kept     %s\n", kept)
	return nil
}

// write writes the files of a finding into a folder, which is made if need be.
func (c *clusterFinding) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var all []error
	for name, data := range c.Files { // each its own file
		if filepath.Base(name) != name {
			return fmt.Errorf("a part has sent a file called %q", name)
		}
		all = append(all, os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	return errors.Join(all...)
}
