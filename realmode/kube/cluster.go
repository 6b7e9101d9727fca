package kube

import (
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Limits of requests that hold unless [Options] say otherwise.
const (
	QPS   = 50
	Burst = 100
)

// Options say how a cluster is talked to. The zero value is fine.
type Options struct {
	// QPS is how many requests a second are made on average, and Burst how many at
	// once. Zero means the constant of the name, a negative QPS that there is no limit.
	// Watches do not count.
	QPS   float32
	Burst int

	// Agent is who makes the requests, in the server's logs and in managed fields.
	Agent string

	// Slim takes what no controller reads out of an object before it is cached. It may
	// change the object.
	Slim func(obj client.Object)

	Log logr.Logger
}

// Cluster is a connection to a cluster.
type Cluster struct {
	opts   Options
	cfg    *rest.Config
	http   *http.Client
	mapper meta.RESTMapper
	live   client.Client
	cache  *Cache
}

// scheme has the kinds that core uses.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // it depends on nothing but the code
		}
	}
	return s
}

// Connect asks the cluster nothing yet, so it may be down.
func Connect(cfg *rest.Config, opts Options) (*Cluster, error) {
	if opts.QPS == 0 {
		opts.QPS = QPS
	}
	if opts.Burst == 0 {
		opts.Burst = Burst
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = opts.QPS, opts.Burst
	if opts.Agent != "" {
		cfg.UserAgent = opts.Agent
	}
	c := &Cluster{opts: opts, cfg: cfg}
	var err error
	if c.http, err = rest.HTTPClientFor(cfg); err != nil {
		return nil, fmt.Errorf("make an HTTP client of the cluster: %w", err)
	}
	if c.mapper, err = apiutil.NewDynamicRESTMapper(cfg, c.http); err != nil {
		return nil, fmt.Errorf("make a mapper of the cluster's kinds: %w", err)
	}
	c.live, err = client.New(cfg, client.Options{HTTPClient: c.http, Scheme: scheme, Mapper: c.mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	c.cache = &Cache{cluster: c}
	return c, nil
}

// Live reads and writes at the API server.
func (c *Cluster) Live() kube.Kube { return c.live }

// Cached reads what the watches of the controllers hold, once they run.
func (c *Cluster) Cached() kube.Reader { return c.cache }
