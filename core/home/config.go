package home

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Name is what this home is selected by.
const Name = "kubernetes"

const (
	// DefaultStaleTTL is how long the API server may go without answering for the
	// Pod before the home counts as unhealthy.
	DefaultStaleTTL = 30 * time.Second
	// DefaultGrantsPoll is how often the grants directory is read.
	DefaultGrantsPoll = 2 * time.Second
	// DefaultGrantFetchTimeout is how long New retries the first grant fetch.
	DefaultGrantFetchTimeout = 60 * time.Second
)

// Family is a family of addresses.
type Family string

// Families. With Unix workers are reachable from inside the Pod only, and no address
// is advertised.
const (
	Unix  Family = "unix"
	Inet4 Family = "inet4"
	Inet6 Family = "inet6"
)

// Config is what a home is made of.
type Config struct {
	// Kube is the cluster. Required.
	Kube Kube

	// PodName and PodNamespace name this Pod. Required.
	PodName      string
	PodNamespace string

	// PodUID is this Pod's UID. Required. A Pod read with another UID is a
	// replacement, and the scope is lost.
	PodUID string

	// StaleTTL is how long the API server may go without answering for the Pod
	// before the home is unhealthy. Zero means DefaultStaleTTL.
	StaleTTL time.Duration

	// Poll is how often the API server is asked. It is also how long one round may
	// take. Zero means half of StaleTTL, which leaves no margin for a round that
	// fails; a third does.
	Poll time.Duration

	// GrantsDir is the directory polled for *.jwt files, and the one that the grant
	// fetch writes. Empty means no delivery and no grant to admit.
	GrantsDir string

	// GrantsPoll is how often GrantsDir is read. Zero means DefaultGrantsPoll.
	GrantsPoll time.Duration

	// GrantTokenFile is the path of the Pod's bound service-account token, sent to
	// fetch the Pod's grant. Empty means no fetch: grants arrive only as files. If it
	// is set, GrantIssuerURL, GrantsDir and Web must be.
	GrantTokenFile string

	// GrantIssuerURL is the issuer, the controller. Grants are fetched from it with
	// "/v1/grant" appended. It must be https when the fetch is on.
	GrantIssuerURL string

	// GrantCAFile is the bundle of PEM certificates that the grant endpoint's must
	// chain to. Empty means the roots of the system.
	GrantCAFile string

	// GrantFetchTimeout is how long New retries the first fetch. Zero means
	// DefaultGrantFetchTimeout.
	GrantFetchTimeout time.Duration

	// Cache is the verifier's key cache, refreshed while the home runs. Nil means
	// that there are no keys to refresh.
	Cache KeyCache

	// Family picks which Pod IP callers dial. Empty means Unix.
	Family Family

	// Devices is what the device driver exposed to this Pod, paths or ids, handed
	// to every grant.
	Devices []string

	// CgroupRoot is the cgroup v2 subtree for work. Empty means the one that Cgroups
	// delegates.
	CgroupRoot string

	// Cgroups is asked when CgroupRoot is empty. Nil means that there is none.
	Cgroups Cgroups

	// Clock drives the polls and stamps the health. Required.
	Clock clock.Clock

	// Files is required with GrantsDir.
	Files Files

	// Web is required with GrantTokenFile.
	Web Web

	// Jitter spreads the delays between fetches, so that homes that started together
	// do not go on together. Nil leaves them as they are.
	Jitter func(time.Duration) time.Duration

	// Logger receives the home's log lines; the zero value is silent.
	Logger logr.Logger
}

// withDefaults returns c with what stands for zero values.
func (c Config) withDefaults() Config {
	if c.StaleTTL == 0 {
		c.StaleTTL = DefaultStaleTTL
	}
	if c.Poll == 0 {
		c.Poll = c.StaleTTL / 2
	}
	if c.GrantsPoll == 0 {
		c.GrantsPoll = DefaultGrantsPoll
	}
	if c.GrantFetchTimeout == 0 {
		c.GrantFetchTimeout = DefaultGrantFetchTimeout
	}
	if c.Family == "" {
		c.Family = Unix
	}
	if c.Jitter == nil {
		c.Jitter = func(d time.Duration) time.Duration { return d }
	}
	c.GrantIssuerURL = strings.TrimRight(c.GrantIssuerURL, "/")
	c.Devices = slices.Clone(c.Devices)
	return c
}

// fetches reports whether grants are fetched.
func (c *Config) fetches() bool { return c.GrantTokenFile != "" }

// Validate reports the first thing wrong with c, after defaults.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, check := range []func(*Config) error{
		(*Config).checkPod, (*Config).checkPeriods, (*Config).checkFetch, (*Config).checkRest,
	} {
		if err := check(&c); err != nil {
			return fmt.Errorf("config of the home: %w", err)
		}
	}
	return nil
}

func (c *Config) checkPod() error {
	switch {
	case c.Kube == nil:
		return errors.New("Kube is missing: give it a client of the cluster")
	case c.PodName == "":
		return errors.New("PodName is empty: set it to the name of this Pod, metadata.name by the downward API")
	case c.PodNamespace == "":
		return errors.New("PodNamespace is empty: set it to the namespace of this Pod, metadata.namespace by the downward API")
	case c.PodUID == "":
		return errors.New("PodUID is empty: set it to the UID of this Pod, metadata.uid by the downward API")
	}
	return nil
}

func (c *Config) checkPeriods() error {
	for _, p := range []struct {
		name  string
		value time.Duration
	}{
		{"StaleTTL", c.StaleTTL}, {"Poll", c.Poll}, {"GrantsPoll", c.GrantsPoll}, {"GrantFetchTimeout", c.GrantFetchTimeout},
	} {
		if p.value < 0 {
			return fmt.Errorf("%s is %s: set it to a positive duration, or to zero for the default", p.name, p.value)
		}
	}
	if c.Poll >= c.StaleTTL {
		return fmt.Errorf("the Poll is %s and the StaleTTL %s: the API server must be asked more often than an answer becomes stale; set Poll to a third of StaleTTL",
			c.Poll, c.StaleTTL)
	}
	return nil
}

func (c *Config) checkFetch() error {
	if c.GrantsDir != "" && c.Files == nil {
		return errors.New("GrantsDir is set and Files is missing: give it the file system")
	}
	if !c.fetches() {
		return nil
	}
	switch {
	case c.GrantIssuerURL == "":
		return errors.New("GrantTokenFile is set and GrantIssuerURL is empty: set it to the https URL of the controller, or leave out the token file")
	case c.GrantsDir == "":
		return errors.New("GrantTokenFile is set and GrantsDir is empty: set it to a directory for the grant, or leave out the token file")
	case c.Web == nil:
		return errors.New("GrantTokenFile is set and Web is missing: give it an HTTPS client")
	}
	// The URL itself is not shown: it may hold credentials.
	u, err := url.Parse(c.GrantIssuerURL)
	switch {
	case err != nil:
		return errors.New("GrantIssuerURL is no URL: set it to something like https://controller.example.com")
	case u.Scheme != "https":
		return fmt.Errorf("GrantIssuerURL has the scheme %q: the Pod's token is sent there, so it must be https", u.Scheme)
	case u.Host == "":
		return errors.New("GrantIssuerURL has no host: set it to something like https://controller.example.com")
	case u.User != nil:
		return errors.New("GrantIssuerURL holds a user: leave it out, the Pod's token is what is sent")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("GrantIssuerURL has a query or a fragment: leave it out, a path is appended")
	}
	return nil
}

func (c *Config) checkRest() error {
	switch c.Family {
	case Unix, Inet4, Inet6:
	default:
		return fmt.Errorf("Family is %q: set it to %s, %s or %s", c.Family, Unix, Inet4, Inet6)
	}
	if c.Clock == nil {
		return errors.New("the Clock is missing: give it the clock of this machine")
	}
	return nil
}
