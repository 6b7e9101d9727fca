package encryption

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// Where API servers say that they can be reached.
const (
	ServiceNamespace = "default"
	ServiceName      = "kubernetes"
)

// serverName is in the certificates of all API servers.
const serverName = "kubernetes.default.svc"

const (
	loadedMetric = "apiserver_encryption_config_controller_last_config_info"

	// scrapeTimeout bounds one request. An API server that is so slow differs from the
	// others for now.
	scrapeTimeout = 10 * time.Second

	// lineMax is the longest line of metrics that is understood.
	lineMax = 1 << 16
)

// Scraper asks API servers what they have loaded.
type Scraper struct {
	live   kube.Reader
	client *http.Client
}

// NewScraper returns one that asks with the rights of cfg, at the addresses that the Service
// kubernetes has. The certificates of all API servers must be good for the name of that
// Service, unless cfg names another.
func NewScraper(cfg *rest.Config, live kube.Reader) (*Scraper, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.ServerName == "" && !cfg.Insecure {
		cfg.ServerName = serverName
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make an HTTP client of API servers: %w", err)
	}
	c.Timeout = scrapeTimeout
	return &Scraper{live: live, client: c}, nil
}

var errNobody = errors.New("no API server says that it is this one")

// Scrape returns the hash of the configuration that the API server of a Lease has loaded:
// the one in whose metrics the Lease's name is.
func (s *Scraper) Scrape(ctx context.Context, lease *coordinationv1.Lease) (string, error) {
	addresses, err := s.addresses(ctx)
	if err != nil {
		return "", err
	}
	want := hashed(lease.Name)
	var failed error
	for _, a := range addresses {
		id, loaded, err := s.ask(ctx, a)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("ask the API server at %s: %w", a, err))
			continue
		}
		if id == want {
			return loaded, nil
		}
	}
	return "", errors.Join(fmt.Errorf("lease %s: %w", lease.Name, errNobody), failed)
}

// addresses are where API servers can be reached.
func (s *Scraper) addresses(ctx context.Context) ([]string, error) {
	found := &discoveryv1.EndpointSliceList{}
	err := s.live.List(ctx, found, client.InNamespace(ServiceNamespace), client.MatchingLabels{discoveryv1.LabelServiceName: ServiceName})
	if err != nil {
		return nil, fmt.Errorf("list the EndpointSlices of the Service %s/%s: %w", ServiceNamespace, ServiceName, err)
	}
	var all []string
	for i := range found.Items {
		for _, port := range found.Items[i].Ports {
			if port.Name == nil || *port.Name != "https" || port.Port == nil {
				continue
			}
			for _, e := range found.Items[i].Endpoints {
				for _, a := range e.Addresses {
					all = append(all, net.JoinHostPort(a, strconv.Itoa(int(*port.Port))))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// ask returns the hash of who is at an address, and of what it has loaded.
func (s *Scraper) ask(ctx context.Context, address string) (id, loaded string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return "", "", err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", "", err
	}
	defer func() {
		if cerr := resp.Body.Close(); err == nil {
			err = cerr
		}
	}()
	if resp.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("it answers %s", resp.Status)
	}
	return find(resp.Body)
}

var errSilent = errors.New("it has no metric " + loadedMetric + ": is it started with --encryption-provider-config-automatic-reload?")

// find reads metrics up to the one that tells.
func find(metrics io.Reader) (id, loaded string, err error) {
	lines := bufio.NewScanner(metrics)
	lines.Buffer(make([]byte, 0, 4096), lineMax)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), loadedMetric+"{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(rest, "}")
		if strings.TrimSpace(value) != "1" {
			continue // of what it had loaded before
		}
		for label := range strings.SplitSeq(labels, ",") {
			name, quoted, _ := strings.Cut(label, "=")
			text := strings.Trim(quoted, `"`)
			switch name {
			case "apiserver_id_hash":
				id = text
			case "hash":
				loaded = text
			}
		}
		return id, loaded, nil
	}
	if err := lines.Err(); err != nil {
		return "", "", fmt.Errorf("read its metrics: %w", err)
	}
	return "", "", errSilent
}

func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ScrapePermissions are the rules that a Scraper needs in [ServiceNamespace].
func ScrapePermissions() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{discoveryv1.GroupName}, Resources: []string{"endpointslices"}, Verbs: []string{"list"}}}
}
