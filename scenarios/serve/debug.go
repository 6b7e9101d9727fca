package serve

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/live"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// debugPath is where the debug API begins.
const debugPath = "/debug/seedbed/"

// State is what GET state answers.
type State struct {
	Scenario string    `json:"scenario,omitempty"`
	Seed     uint64    `json:"seed"`
	Now      time.Time `json:"now"`     // virtual
	Elapsed  float64   `json:"elapsed"` // virtual seconds
	Uptime   float64   `json:"uptime"`  // real seconds
	Speed    string    `json:"speed"`
	Paused   bool      `json:"paused"`
	Behind   float64   `json:"behind"` // virtual seconds that the machine was too slow for
	Steps    uint64    `json:"steps"`
	Hash     string    `json:"hash"`
	Requests uint64    `json:"requests"` // of clients
	Watches  int64     `json:"watches"`  // open ones of clients
	Revision uint64    `json:"revision"`
	Nodes    int       `json:"nodes"`
	Faults   int       `json:"faults"` // switched on
	Broken   int       `json:"broken"` // properties
}

// Fault is a fault that may strike.
type Fault struct {
	ID     int    `json:"id"`
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"`
	Rate   string `json:"rate,omitempty"`
	Verb   string `json:"verb,omitempty"`
	Key    string `json:"key,omitempty"`
	Struck int    `json:"struck"` // how often faults of this kind have struck
}

// Property is how things stand with a property.
type Property struct {
	Name    string  `json:"name"`
	Meaning string  `json:"meaning"`
	State   string  `json:"state"` // holds, broken, or at-end: only asked at the end of a run
	At      float64 `json:"at,omitempty"`
	Found   string  `json:"found,omitempty"`
}

// failure is an error with its HTTP status.
type failure struct {
	code int
	text string
}

func (f *failure) Error() string { return f.text }

func bad(format string, args ...any) error {
	return &failure{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// authenticated admits the administrator only.
func (s *Server) authenticated(next http.Handler) http.Handler {
	want := []byte("Bearer " + s.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			answer(w, http.StatusUnauthorized, map[string]string{"error": "the token of the kubeconfig is needed"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// debug is the debug API.
func (s *Server) debug() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request) (any, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+debugPath+path, func(w http.ResponseWriter, r *http.Request) {
			result, err := do(r)
			var f *failure
			switch {
			case errors.As(err, &f):
				answer(w, f.code, map[string]string{"error": f.text})
			case errors.Is(err, live.ErrEnded):
				answer(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
			case err != nil:
				answer(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
			default:
				answer(w, http.StatusOK, result)
			}
		})
	}
	handle("GET state", s.getState)
	handle("POST pause", func(r *http.Request) (any, error) { return s.after(r, s.driver.Pause(r.Context())) })
	handle("POST resume", func(r *http.Request) (any, error) { return s.after(r, s.driver.Resume(r.Context())) })
	handle("POST speed", s.setSpeed)
	handle("POST step", s.step)
	handle("GET faults", s.getFaults)
	handle("GET faults/kinds", func(*http.Request) (any, error) { return s.registry.Faults(), nil })
	handle("POST faults", s.inject)
	handle("DELETE faults", s.clearAll)
	handle("DELETE faults/{id}", s.clear)
	handle("GET properties", s.getProperties)
	mux.HandleFunc("GET "+debugPath+"trace", s.getTrace)
	mux.HandleFunc(debugPath, func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusNotFound, map[string]string{"error": fmt.Sprintf("there is no %s %s; there are: %s",
			r.Method, r.URL.Path, "GET state, faults, faults/kinds, trace, properties; POST pause, resume, speed?to=, step?by=, faults; DELETE faults, faults/N")})
	})
	return mux
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // the client is gone if this fails
}

// after answers how things stand once something was done.
func (s *Server) after(r *http.Request, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return s.getState(r)
}

func (s *Server) getState(r *http.Request) (any, error) {
	state, err := s.driver.State(r.Context())
	if err != nil {
		return nil, err
	}
	out := State{
		Seed: s.world.Seed(), Now: state.Now, Elapsed: state.Elapsed.Seconds(), Uptime: time.Since(s.began).Seconds(),
		Speed: state.Speed.String(), Paused: state.Paused, Behind: state.Behind.Seconds(), Steps: state.Steps,
		Hash: fmt.Sprintf("%016x", state.Hash), Requests: state.Requests, Watches: s.watches.Load(), Revision: state.Revision,
	}
	if s.world.file != nil {
		out.Scenario = s.world.file.Metadata.Name
	}
	err = s.driver.Do(r.Context(), func(c *cluster.Cluster) {
		out.Nodes, out.Faults = len(c.Nodes()), len(c.ActiveFaults())
		for _, p := range s.world.Properties() {
			if p.Broken != nil {
				out.Broken++
			}
		}
	})
	return out, err
}

func (s *Server) setSpeed(r *http.Request) (any, error) {
	speed, err := live.ParseSpeed(r.URL.Query().Get("to"))
	if err != nil {
		return nil, bad("to: %v", err)
	}
	return s.after(r, s.driver.SetSpeed(r.Context(), speed))
}

func (s *Server) step(r *http.Request) (any, error) {
	text := r.URL.Query().Get("by")
	by, err := time.ParseDuration(text)
	if err != nil || by <= 0 {
		return nil, bad("by: %q is not a time to step by; write one such as 10s, 1m30s or 24h", text)
	}
	err = s.driver.Step(r.Context(), by)
	if errors.Is(err, live.ErrLongStep) {
		return nil, bad("by: %v", err)
	}
	return s.after(r, err)
}

func (s *Server) getFaults(r *http.Request) (any, error) {
	faults := []Fault{}
	err := s.driver.Do(r.Context(), func(c *cluster.Cluster) {
		for _, f := range c.ActiveFaults() {
			faults = append(faults, shown(f, c.Strikes(f.Fault.Kind)))
		}
	})
	return faults, err
}

func shown(f cluster.ActiveFault, struck int) Fault {
	out := Fault{ID: f.ID, Kind: f.Fault.Kind, Target: f.Fault.Target, Verb: f.Fault.Verb, Key: f.Fault.Key, Struck: struck}
	if f.Fault.Rate > 0 {
		out.Rate = scenarios.Rate(f.Fault.Rate).String()
	}
	return out
}

// maxFault is the largest body of a fault, in bytes.
const maxFault = 64 << 10

func (s *Server) inject(r *http.Request) (any, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxFault))
	if err != nil {
		return nil, bad("read the fault: %v", err)
	}
	var f cluster.Fault
	var refused error
	if err := s.driver.Do(r.Context(), func(c *cluster.Cluster) { f, refused = s.registry.ParseFault(text, c) }); err != nil {
		return nil, err
	}
	var problems scenarios.Problems
	if errors.As(refused, &problems) {
		return nil, bad("%s", oneLine(problems))
	}
	on, err := s.driver.Inject(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return shown(on, 0), nil
}

// oneLine is the first problem, and what is allowed instead.
func oneLine(problems scenarios.Problems) string {
	p := problems[0]
	text := p.Message
	if strings.Contains(p.Path, ".") { // else it is the name of the fault
		text = p.Path + ": " + text
	}
	switch {
	case p.Nearest != "":
		text += fmt.Sprintf("; did you mean %q?", p.Nearest)
	case len(p.Allowed) > 0:
		text += "; allowed are " + strings.Join(p.Allowed, ", ")
	}
	return text
}

func (s *Server) clear(r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return nil, bad("%q is not the number of a fault; GET faults lists them", r.PathValue("id"))
	}
	was, err := s.driver.Clear(r.Context(), id)
	if err == nil && !was {
		return nil, &failure{http.StatusNotFound, fmt.Sprintf("no fault %d is switched on; GET faults lists them", id)}
	}
	return map[string]int{"cleared": 1}, err
}

func (s *Server) clearAll(r *http.Request) (any, error) {
	var all []cluster.ActiveFault
	if err := s.driver.Do(r.Context(), func(c *cluster.Cluster) { all = c.ActiveFaults() }); err != nil {
		return nil, err
	}
	n := 0
	for _, f := range all {
		was, err := s.driver.Clear(r.Context(), f.ID)
		if err != nil {
			return nil, err
		}
		if was {
			n++
		}
	}
	return map[string]int{"cleared": n}, nil
}

func (s *Server) getProperties(r *http.Request) (any, error) {
	out := []Property{}
	err := s.driver.Do(r.Context(), func(*cluster.Cluster) {
		for _, p := range s.world.Properties() {
			out = append(out, standing(p))
		}
	})
	return out, err
}

func standing(p sim.Standing) Property {
	out := Property{Name: p.Name, Meaning: p.Meaning, State: "holds"}
	switch {
	case p.Broken != nil:
		out.State, out.At, out.Found = "broken", p.Broken.At.Seconds(), p.Broken.Err.Error()
	case p.AtEnd:
		out.State = "at-end"
	}
	return out
}

func (s *Server) getTrace(w http.ResponseWriter, r *http.Request) {
	after, most := uint64(0), memory
	var err error
	if text := r.URL.Query().Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("after: %q is not the number of a step", text)})
			return
		}
	}
	if text := r.URL.Query().Get("limit"); text != "" {
		if most, err = strconv.Atoi(text); err != nil || most < 1 {
			answer(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("limit: %q is not a number of events, 1 or more", text)})
			return
		}
	}
	var records []engine.Record
	if err := s.driver.Do(r.Context(), func(*cluster.Cluster) { records = s.trace.after(after, most) }); err != nil {
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
		return
	}
	var lines bytes.Buffer
	_ = report.WriteRecords(&lines, records) // a buffer takes everything
	w.Header().Set("Content-Type", "application/jsonl")
	_, _ = w.Write(lines.Bytes()) // the client is gone if this fails
}
