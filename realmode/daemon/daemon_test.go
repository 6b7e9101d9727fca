package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

// command is one that ends as it is told.
func command(run func(ctx context.Context) error) *cobra.Command {
	cmd := &cobra.Command{Use: "seedbed-test", Args: daemon.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
	cmd.Flags().Int("number", 0, "")
	return cmd
}

func TestMainEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		args string
		err  error
		code int
		said string
	}{
		{"well", "--number 1", nil, 0, ""},
		{"with an error", "", broken, 1, "seedbed-test: broken\n"},
		{"with one of usage", "", fmt.Errorf("start: %w", daemon.Usage(broken)), 2, "seedbed-test: start: broken\nseedbed-test --help tells of all flags.\n"},
		{"with an unknown flag", "--nobody", nil, 2, "seedbed-test: unknown flag: --nobody\nseedbed-test --help tells of all flags.\n"},
		{"with an argument", "now", nil, 2, "seedbed-test: unexpected argument \"now\": see --help\nseedbed-test --help tells of all flags.\n"},
	} {
		var log bytes.Buffer
		code := daemon.Main(command(func(context.Context) error { return c.err }), strings.Fields(c.args), &log)
		if d := cmp.Diff(fmt.Sprint(c.code, c.said), fmt.Sprint(code, log.String())); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if daemon.Usage(nil) != nil {
		t.Error("no error became one")
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	cmd := command(nil)
	cmd.SetOut(&out)
	if code := daemon.Main(cmd, []string{"--version"}, io.Discard); code != 0 || !strings.HasPrefix(out.String(), "seedbed-test ") || !strings.Contains(out.String(), "\ngo1.") {
		t.Errorf("exit code %d, said %q", code, out.String())
	}
}

func TestEndpoints(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ill atomic.Bool
	ready := func() error {
		if ill.Load() {
			return errors.New("no key")
		}
		return nil
	}
	e := &daemon.Endpoints{Ready: ready, Metrics: http.NotFoundHandler()}
	end := e.Serve(listener, logr.Discard())
	get := func(path string) string {
		resp, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
	}
	got := []string{get("/healthz"), get("/readyz"), get("/metrics")}
	ill.Store(true)
	got = append(got, get("/healthz"), get("/readyz"))
	if d := cmp.Diff([]string{"200 ok", "200 ok", "404 404 page not found", "200 ok", "503 no key"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	end()
	if conn, err := net.DialTimeout("tcp", listener.Addr().String(), time.Second); err == nil {
		_ = conn.Close()
		t.Error("somebody answers after the end")
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:80": "<nil>", "127.1.2.3:0": "<nil>", "[::1]:80": "<nil>", "localhost:80": "<nil>",
		":80": `":80" can be reached from elsewhere: use 127.0.0.1 or [::1]`, "0.0.0.0:80": `"0.0.0.0:80" can be reached from elsewhere: use 127.0.0.1 or [::1]`,
		"[::]:80": `"[::]:80" can be reached from elsewhere: use 127.0.0.1 or [::1]`, "example.com:80": `"example.com:80" can be reached from elsewhere: use 127.0.0.1 or [::1]`,
		"127.0.0.1": `"127.0.0.1" is no host and port, such as 127.0.0.1:8090`,
	} {
		if got := fmt.Sprint(daemon.Loopback(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
