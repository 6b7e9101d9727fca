package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/realmode/indexedjob"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
)

// clusterResult is what the Pod of one part sends back.
type clusterResult struct {
	Explored scenarios.ExploredPart     `json:"explored"`
	Findings map[string]*clusterFinding `json:"findings,omitempty"` // by the name of the scenario
}

// clusterFinding is a failing run.
type clusterFinding struct {
	Seed   uint64            `json:"seed"`
	Text   string            `json:"text"` // its story; folderMark stands for the folder of Files
	Replay string            `json:"replay,omitempty"`
	Files  map[string][]byte `json:"files,omitempty"` // the replay file and the picture
}

const folderMark = "<replays>"

func encodeResult(r *clusterResult) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := json.NewEncoder(zip).Encode(r); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return out.Bytes(), nil
}

func decodeResult(data []byte) (*clusterResult, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode the result: %w", err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		return nil, fmt.Errorf("decode the result: %w", err)
	}
	r := &clusterResult{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("decode the result: %w", err)
	}
	return r, nil
}

// workerFlags are those of what runs in the Pods.
type workerFlags struct {
	exploreFlags
	parts int
	files string
}

func (a *app) clusterWorkerCommand() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use: "worker", Short: "Make one part of a search, in a Pod of cluster-explore", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.clusterWorker(cmd, &f) },
	}
	f.search(cmd.Flags())
	cmd.Flags().IntVar(&f.parts, "parts", 1, "number of parts of the whole")
	cmd.Flags().StringVar(&f.files, "files", indexedjob.FilesDir, "folder of the files of the Job")
	return cmd
}

// lookup reads a variable of the environment.
func (a *app) lookup(name string) string {
	if a.env != nil {
		return a.env(name)
	}
	return os.Getenv(name)
}

// clusterWorker makes one part and publishes what it has found, unless that is there
// already: its Pod may have been lost after that.
func (a *app) clusterWorker(cmd *cobra.Command, f *workerFlags) error {
	ctx := cmd.Context()
	job := client.ObjectKey{Namespace: a.lookup(indexedjob.NamespaceVariable), Name: a.lookup(indexedjob.NameVariable)}
	index, err := strconv.ParseInt(a.lookup(indexedjob.IndexVariable), 10, 32)
	if err != nil || index < 0 || int(index) >= f.parts || job.Name == "" || job.Namespace == "" {
		return badInput("this is run by the Pods of seedbed cluster-explore, with %s, %s and %s set", indexedjob.NamespaceVariable, indexedjob.NameVariable, indexedjob.IndexVariable)
	}
	f.shard = fmt.Sprintf("%d/%d", index+1, f.parts)
	plan, err := f.plan(cmd)
	if err != nil {
		return err
	}
	kube, _, err := connect(a.lookup("KUBECONFIG"), "")
	if err != nil {
		return badInput("%v", err)
	}
	there, err := indexedjob.Published(ctx, kube, job, int32(index))
	if err != nil {
		return &exit{exitFailed, err.Error()}
	}
	if there != nil {
		fmt.Fprintf(a.out, "part %s is published already\n", f.shard)
		return nil
	}
	if plan.Files, err = a.restore(filepath.Join(f.files, scenariosFile)); err != nil {
		return err
	}
	result, err := a.makePart(ctx, &f.exploreFlags, plan)
	if err != nil {
		return err
	}
	data, err := encodeResult(result)
	if err != nil {
		return &exit{exitFailed, err.Error()}
	}
	if err := indexedjob.Publish(ctx, kube, job, int32(index), data); err != nil {
		return &exit{exitFailed, err.Error()}
	}
	fmt.Fprintf(a.out, "part %s is published: %s, %d bytes\n", f.shard, scenarios.Count(len(result.Findings), "finding"), len(data))
	return nil
}

// restore reads the scenarios that were sent.
func (a *app) restore(path string) ([]*scenarios.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, badInput("%v", err)
	}
	var saved []scenarios.SavedFile
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, badInput("%s: %v", path, err)
	}
	files := make([]*scenarios.File, len(saved))
	for i := range saved {
		if files[i], err = a.registry.Restore(saved[i]); err != nil {
			return nil, a.readProblems(err)
		}
	}
	return files, nil
}

// makePart explores, and tells what was found.
func (a *app) makePart(ctx context.Context, f *exploreFlags, plan scenarios.Exploration) (*clusterResult, error) {
	line := newLiveLine(a.out, false)
	plan.Progress = func(e *scenarios.Explored) { line.show(e.Progress()) }
	explored, err := a.registry.Explore(ctx, plan)
	if err != nil {
		return nil, badInput("%v", err)
	}
	if ctx.Err() != nil { // the Pod is to go; another one makes the part
		return nil, &exit{exitInterrupted, "interrupted"}
	}
	fmt.Fprint(a.out, scenarios.Style{Names: scenarios.NamesWidth(plan.Files)}.Explored(explored))
	part, err := explored.Part()
	if err != nil {
		return nil, &exit{exitFailed, err.Error()}
	}
	result := &clusterResult{Explored: *part, Findings: map[string]*clusterFinding{}}
	for _, file := range explored.Files {
		if file.Bad == nil || file.Bad.Result != scenarios.Violated {
			continue
		}
		if result.Findings[file.File.Metadata.Name], err = a.clusterFinding(file, f); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// pictureMax is how large the picture of a finding may be to be sent.
const pictureMax = 4 << 20

func (a *app) clusterFinding(file *scenarios.ExploredFile, f *exploreFlags) (found *clusterFinding, err error) {
	defer recovered(runName(file.File, file.Bad.Seed), &err)
	folder, err := os.MkdirTemp("", "seedbed-")
	if err != nil {
		return nil, &exit{exitFailed, err.Error()}
	}
	defer func() { _ = os.RemoveAll(folder) }()
	budget := sim.Budget{Runs: 2000, Time: f.shrink}
	if f.shrink == 0 {
		budget.Runs = -1
	}
	failure, err := a.registry.Investigate(file.Bad, budget, folder)
	if err != nil {
		return nil, &exit{exitEngine, err.Error()}
	}
	found = &clusterFinding{Seed: file.Bad.Seed, Files: map[string][]byte{}}
	for _, path := range []*string{&failure.Replay, &failure.Picture} {
		if *path == "" {
			continue
		}
		data, err := os.ReadFile(*path)
		if err != nil {
			return nil, &exit{exitFailed, err.Error()}
		}
		base := filepath.Base(*path)
		if path == &failure.Picture && len(data) > pictureMax {
			*path = ""
			continue
		}
		found.Files[base], *path = data, folderMark+string(filepath.Separator)+base
	}
	found.Replay = strings.TrimPrefix(failure.Replay, folderMark+string(filepath.Separator))
	found.Text = scenarios.Style{}.Failure(failure, "seedbed replay "+failure.Replay)
	fmt.Fprint(a.out, found.Text)
	return found, nil
}
