package daemontest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asProgram makes a test binary be the program.
const asProgram = "SEEDBED_TEST_IS_PROGRAM"

// Main runs the tests, or the program in a process that [Start] has started, and
// returns the exit code.
func Main(m *testing.M, program func() int) int {
	if os.Getenv(asProgram) != "" {
		return program()
	}
	return m.Run()
}

// Process is a program that runs.
type Process struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   Buffer
	ended sync.Once
	err   error
}

// Buffer may be written by one and read by another at once.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Start starts the program with arguments, and further variables of the environment in
// front of them, as env does. It is killed at the end of the test, if it lives still.
func Start(t *testing.T, args ...string) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), asProgram+"=1")
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && strings.Contains(args[0], "=") {
		env, args = append(env, args[0]), args[1:]
	}
	p := &Process{t: t, cmd: exec.Command(exe, args...)}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%v said:\n%s", args, p.Output())
		}
	})
	return p
}

// Run runs the program to its end, and returns its exit code and what it said.
func Run(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	p := Start(t, args...)
	return p.Wait(), p.Output()
}

// Output is what the process has said until now.
func (p *Process) Output() string { return p.out.String() }

// Says reports whether it has said something.
func (p *Process) Says(text string) bool { return strings.Contains(p.Output(), text) }

// Wait waits for the end of the process and returns its exit code, -1 if it was killed.
func (p *Process) Wait() int {
	p.ended.Do(func() { p.err = p.cmd.Wait() })
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Errorf("wait for the process: %v", p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal, also to a process that has ended.
func (p *Process) Signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("signal the process: %v", err)
	}
}

// Kill kills the process and waits for its end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Stop tells the process to end, and wants it to do so without an error.
func (p *Process) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		p.t.Errorf("the process ended with %d", code)
	}
}

// Get asks one of the endpoints.
func (p *Process) Get(path string) (status int, body string) {
	p.t.Helper()
	var address string
	Eventually(p.t, "the process serves its endpoints", func() bool {
		_, rest, ok := strings.Cut(p.Output(), "address=")
		address, _, _ = strings.Cut(rest, "\n")
		return ok
	})
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// Metric is one of the metrics, with its labels; not there is 0.
func (p *Process) Metric(name string) float64 {
	p.t.Helper()
	_, metrics := p.Get("/metrics")
	_, rest, _ := strings.Cut("\n"+metrics, "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	if text == "" {
		return 0
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// Eventually waits until something is so.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it has not come to this: %s", what)
		}
	}
}
