package home_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/core/home"
)

func TestValidateReportsTheFirstProblem(t *testing.T) {
	inPod(t, func(l *lab) {
		for _, c := range []struct {
			name string
			edit func(*home.Config)
			want string // "": nothing is wrong
		}{
			{"all is well", func(*home.Config) {}, ""},
			{"no cluster", func(c *home.Config) { c.Kube = nil; c.PodName = "" }, "Kube is missing"},
			{"no name", func(c *home.Config) { c.PodName = ""; c.PodNamespace = "" }, "PodName is empty: set it to"},
			{"no namespace", func(c *home.Config) { c.PodNamespace = ""; c.PodUID = "" }, "PodNamespace is empty"},
			{"no UID", func(c *home.Config) { c.PodUID = ""; c.StaleTTL = -1 }, "PodUID is empty"},
			{"a negative TTL", func(c *home.Config) { c.StaleTTL = -time.Second }, "StaleTTL is -1s: set it to a positive duration"},
			{"a negative poll", func(c *home.Config) { c.Poll = -time.Second }, "Poll is -1s"},
			{"a negative poll of grants", func(c *home.Config) { c.GrantsPoll = -time.Second }, "GrantsPoll is -1s"},
			{"a negative timeout", func(c *home.Config) { c.GrantFetchTimeout = -time.Second }, "GrantFetchTimeout is -1s"},
			{"a poll as long as the TTL", func(c *home.Config) { c.Poll = 30 * time.Second }, "Poll is 30s and the StaleTTL 30s"},
			{"a token file alone", func(c *home.Config) { c.GrantIssuerURL = "" }, "GrantIssuerURL is empty"},
			{"a fetch to nowhere", func(c *home.Config) { c.GrantsDir = "" }, "GrantsDir is empty"},
			{"no web", func(c *home.Config) { c.Web = nil }, "Web is missing"},
			{"no files", func(c *home.Config) { c.Files = nil }, "Files is missing"},
			{"plain http", func(c *home.Config) { c.GrantIssuerURL = "http://controller" }, `scheme "http"`},
			{"no host", func(c *home.Config) { c.GrantIssuerURL = "https:///v1" }, "no host"},
			{"no URL", func(c *home.Config) { c.GrantIssuerURL = "https://[" }, "is no URL"},
			{"a query", func(c *home.Config) { c.GrantIssuerURL = "https://c?a=b" }, "a query or a fragment"},
			{"a password", func(c *home.Config) { c.GrantIssuerURL = "https://u:hunter2@c" }, "holds a user"},
			{"any URL will do without a fetch", func(c *home.Config) { c.GrantTokenFile = ""; c.GrantIssuerURL = "http://c" }, ""},
			{"no grants at all", func(c *home.Config) { c.GrantTokenFile = ""; c.GrantsDir = ""; c.Files = nil }, ""},
			{"another family", func(c *home.Config) { c.Family = "inet5" }, `Family is "inet5": set it to unix, inet4 or inet6`},
			{"no clock", func(c *home.Config) { c.Clock = nil }, "Clock is missing"},
		} {
			cfg := l.cfg
			c.edit(&cfg)
			err := cfg.Validate()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: got %v, want it to say %q", c.name, err, c.want)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("%s: the error shows a password: %v", c.name, err)
			}
		}
	})
}

// TestHealthHasHysteresis: unhealthy without an answer for the stale time, healthy only
// within half of it after one.
func TestHealthHasHysteresis(t *testing.T) {
	const s = time.Second
	health := home.NewSourceHealth(10*s, 0)
	for _, c := range []struct {
		mark, at time.Duration // a mark before, if not negative
		want     bool
	}{
		{-1, 9 * s, true}, {-1, 10 * s, false}, {10 * s, 17 * s, false}, {17 * s, 18 * s, true}, {-1, 23 * s, true}, {-1, 27 * s, false},
	} {
		if c.mark >= 0 {
			health.MarkSync(c.mark)
		}
		if got := health.Healthy(c.at); got != c.want {
			t.Errorf("at %s: healthy is %t", c.at, got)
		}
	}
}
