package fidelity

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

var (
	serverURL   = flag.String("url", "", "compare with the API server at this URL")
	serverToken = flag.String("token", "", "bearer token of a member of system:masters named admin, for -url")
	sequences   = flag.Int("sequences", 20, "generated sequences to run against -url")
	seed        = flag.Int("seed", 0, "seed of the first sequence; 0: a fresh one")
	shrinkTime  = flag.Duration("shrink", 20*time.Second, "time for shrinking each divergence")
	casesDir    = flag.String("cases", "", "write a case file for each divergence into this folder")
	resources   = flag.String("resources", "", "only calls about these, such as v1/pods,apps/v1/deployments")
	workers     = flag.Int("workers", 6, "sequences side by side")
)

// TestGeneratedCallsAgainstServer holds the fake against a running server.
func TestGeneratedCallsAgainstServer(t *testing.T) {
	if *serverURL == "" {
		t.Skip("no -url: needs a running kube-apiserver; see seedbed fidelity random")
	}
	if *seed == 0 {
		*seed = int(time.Now().UnixNano() % 1e9)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	var runs atomic.Int64
	outcome, err := Explore(context.Background(), Plan{
		Sequences: *sequences, Calls: 30, Resources: strings.FieldsFunc(*resources, func(r rune) bool { return r == ',' }), Seed: *seed, Workers: *workers, ShrinkTime: *shrinkTime,
		Reality: func() (conformance.Target, error) {
			return conformance.Target{
				URL: *serverURL, Token: *serverToken, Transport: transport, Lasting: true,
				Unique: strconv.FormatInt(time.Now().UnixMilli(), 36) + strconv.FormatInt(runs.Add(1), 36),
			}, nil
		},
		Fake: func() (conformance.Target, error) { return NewFake(), nil },
		Found: func(seed int, d *Divergence) {
			t.Logf("seed %d: %s", seed, d)
			c := CaseOf(seed, d)
			text, err := conformance.Format(c)
			if err != nil {
				t.Error(err)
				return
			}
			if *casesDir == "" {
				return
			}
			if err := os.WriteFile(filepath.Join(*casesDir, c.Name+".yaml"), text, 0o600); err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Error(err)
	}
	if outcome != nil {
		fmt.Println(outcome.Summary(), "seed", *seed)
	}
}
