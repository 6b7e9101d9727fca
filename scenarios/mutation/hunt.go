package mutation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/mutation/switches"
)

// Hunt says how the mutants of a target are hunted.
type Hunt struct {
	Root    string // of the module
	Folder  string // for what is built
	Runs    int    // of each scenario for each mutant; 0: as the target says
	Workers int    // programs side by side

	// Some decides which mutants are tried; nil takes all.
	Some func(*Site) bool

	// Scenarios is how many scenarios at most are tried for a mutant that none catches.
	Scenarios int

	// Patience is how long a mutant may take: one that is never done counts as caught.
	Patience time.Duration

	// Log, if set, gets a line for each mutant.
	Log io.Writer
}

// Mutant is a site and what came of it.
type Mutant struct {
	Site
	Reached bool   // something comes by
	Caught  string // what caught it: a property, "tests", "panic" or "time"; empty: nothing
	By      string // the scenario
	Runs    int
}

// Score tries the mutants of a target.
func (t *Target) Score(h Hunt) ([]Mutant, error) {
	sites, err := t.Sites(h.Root)
	if err != nil {
		return nil, err
	}
	planted, err := t.Plant(h.Root, h.Folder)
	if err != nil {
		return nil, err
	}
	if h.Runs == 0 {
		h.Runs = t.Runs
	}
	hunters := &hunters{target: t, hunt: &h, planted: planted}
	if err := hunters.survey(len(sites)); err != nil {
		return nil, err
	}
	var mutants []Mutant
	var numbers []int
	for i, s := range sites {
		if h.Some == nil || h.Some(&s) {
			mutants, numbers = append(mutants, Mutant{Site: s, Reached: len(hunters.reached[i]) > 0}), append(numbers, i)
		}
	}
	work := make(chan int)
	errs := make([]error, max(h.Workers, 1))
	var all sync.WaitGroup
	for worker := range errs {
		all.Go(func() {
			hunter := &hunter{hunters: hunters}
			for i := range work { // to the end, or nobody takes what is left
				if errs[worker] == nil {
					errs[worker] = hunter.hunt(numbers[i], &mutants[i])
				}
			}
			hunter.dismiss()
		})
	}
	for i := range mutants {
		work <- i
	}
	close(work)
	all.Wait()
	return mutants, errors.Join(errs...)
}

// hunters share what is known of a target.
type hunters struct {
	target  *Target
	hunt    *Hunt
	planted *Planted
	reached [][]int // by mutant, the numbers of the scenarios that come by

	mu sync.Mutex // of the log
}

// survey asks which scenarios come by which sites.
func (hs *hunters) survey(sites int) error {
	h := &hunter{hunters: hs}
	defer h.dismiss()
	if err := h.ask(question{Mutant: switches.None}); err != nil {
		return err
	}
	hs.reached = make([][]int, sites)
	for i := 0; ; i++ {
		var r reach
		if err := h.answers.Decode(&r); err != nil {
			return fmt.Errorf("try %s without mutants: %w", hs.target.Name, h.cause(err))
		}
		if r.File == "" {
			return nil
		}
		for _, site := range r.Sites {
			hs.reached[site] = append(hs.reached[site], i)
		}
	}
}

// hunter has one program at a time, and a new one after a mutant that has brought it down.
type hunter struct {
	*hunters
	cmd       *exec.Cmd
	questions io.WriteCloser
	answers   *json.Decoder
	stderr    bytes.Buffer
}

func (h *hunter) ask(q question) error {
	if h.cmd == nil {
		h.cmd = exec.Command(h.planted.Runner, h.target.Name, strconv.Itoa(h.hunters.hunt.Runs))
		h.stderr.Reset()
		h.cmd.Stderr = &h.stderr
		in, err := h.cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := h.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := h.cmd.Start(); err != nil {
			return fmt.Errorf("start the runner: %w", err)
		}
		h.questions, h.answers = in, json.NewDecoder(bufio.NewReader(out))
	}
	return json.NewEncoder(h.questions).Encode(q)
}

// dismiss ends the program.
func (h *hunter) dismiss() {
	if h.cmd == nil {
		return
	}
	_ = h.questions.Close()
	_ = h.cmd.Process.Kill() // it may be at work for ever
	_ = h.cmd.Wait()
	h.cmd = nil
}

// cause is why a program has ended.
func (h *hunter) cause(err error) error {
	h.dismiss()
	if text := bytes.TrimSpace(h.stderr.Bytes()); len(text) > 0 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// hunt tries one mutant.
func (h *hunter) hunt(number int, m *Mutant) error {
	files := h.reached[number]
	if most := h.hunters.hunt.Scenarios; most > 0 && len(files) > most {
		files = spread(files, most)
	}
	if h.planted.Tests != "" { // first: they are quick
		if err := h.test(number, m); err != nil {
			return err
		}
	}
	if m.Caught == "" && len(files) > 0 {
		if err := h.run(number, files, m); err != nil {
			return err
		}
	}
	h.log(m)
	return nil
}

// spread takes n of the numbers, evenly.
func spread(all []int, n int) []int {
	some := make([]int, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return slices.Compact(some)
}

func (h *hunter) run(number int, files []int, m *Mutant) error {
	if err := h.ask(question{Mutant: number, Files: files}); err != nil {
		return fmt.Errorf("try %s: %w", m.ID(), err)
	}
	late := time.AfterFunc(h.hunters.hunt.Patience, func() { _ = h.cmd.Process.Kill() })
	var a answer
	err := h.answers.Decode(&a)
	if inTime := late.Stop(); err != nil {
		m.Caught = "panic"
		if !inTime {
			m.Caught = "time"
		}
		h.dismiss()
		return nil
	}
	m.Caught, m.By, m.Runs = a.Caught, a.File, a.Runs
	return nil
}

// test runs the tests of the package with a mutant.
func (h *hunter) test(number int, m *Mutant) error {
	patience := fmt.Sprintf("-test.timeout=%s", h.hunters.hunt.Patience)
	cmd := exec.Command(h.planted.Tests, "-test.short", "-test.failfast", patience)
	cmd.Dir = h.target.folder(h.hunters.hunt.Root)
	cmd.Env = append(os.Environ(), switches.Env+"="+strconv.Itoa(number))
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		m.Caught, m.Reached = "tests", true
	default:
		return fmt.Errorf("test with %s: %w", m.ID(), err)
	}
	return nil
}

func (h *hunter) log(m *Mutant) {
	if h.hunters.hunt.Log == nil {
		return
	}
	what := "caught by " + m.Caught + " " + m.By
	switch {
	case m.Caught == "" && !m.Reached:
		what = "SURVIVES: nothing comes by"
	case m.Caught == "":
		what = fmt.Sprintf("SURVIVES %d runs", m.Runs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.hunters.hunt.Log, "%s: %s\n", m.ID(), what)
}
