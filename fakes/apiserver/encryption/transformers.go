package encryption

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/apis/apiserver"

	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/fakes/kms/envelope"
)

// Surroundings are what transformers need of the process that they are in.
type Surroundings struct {
	// Timers are those of the process.
	Timers kms.Timers

	// Random is read for nonces and seeds.
	Random io.Reader

	// Sockets are those of the machine; nil if there are none, so that no KMS provider
	// ever gets an answer.
	Sockets *kms.Sockets

	// HealthzExpires and Watched are those of [envelope.Config].
	HealthzExpires, Watched bool
}

// Transformers are what one loaded configuration makes of the values of all resources.
// They are used on one goroutine.
type Transformers struct {
	overrides map[schema.GroupResource]*Transformer
	providers []*envelope.Provider
	timeouts  time.Duration // of all KMS providers together
	hash      string
	took      time.Duration
}

var anyResource = schema.GroupResource{Group: "*", Resource: "*"}

// None are the transformers of a server that has loaded no configuration.
func None() *Transformers { return &Transformers{} }

// Build makes the transformers of a configuration. Plugins are called once, inline; that
// they do not answer is no error. On an error nothing is left behind.
func Build(c *Configuration, s Surroundings) (*Transformers, error) {
	t := &Transformers{overrides: map[schema.GroupResource]*Transformer{}, hash: c.hash}
	for i := range c.config.Resources {
		if err := t.add(&c.config.Resources[i], s); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// add adds one element of the list resources. Resources that are mentioned in several
// elements have the providers of all.
func (t *Transformers) add(r *apiserver.ResourceConfiguration, s Surroundings) error {
	providers := make([]provider, 0, len(r.Providers))
	for i := range r.Providers {
		p, err := t.provider(&r.Providers[i], s)
		if err != nil {
			return err
		}
		providers = append(providers, p)
	}
	for _, name := range r.Resources {
		gr := schema.ParseGroupResource(name)
		for _, wide := range []schema.GroupResource{{Group: gr.Group, Resource: "*"}, anyResource} {
			if t.overrides[wide] != nil {
				return fmt.Errorf("resource %q is masked by earlier rule %q", yamlName(gr), yamlName(wide))
			}
		}
		of := t.overrides[gr]
		if of == nil {
			of = &Transformer{}
			t.overrides[gr] = of
		}
		of.providers = append(of.providers, providers...)
	}
	return nil
}

func yamlName(gr schema.GroupResource) string {
	if gr.Group == "" && gr.Resource == "*" {
		return "*."
	}
	return gr.String()
}

func (t *Transformers) provider(p *apiserver.ProviderConfiguration, s Surroundings) (provider, error) {
	switch {
	case p.AESGCM != nil:
		return newKeyed(providerGCM, p.AESGCM.Keys, s.Random, newGCM)
	case p.AESCBC != nil:
		return newKeyed(providerCBC, p.AESCBC.Keys, s.Random, newCBC)
	case p.Secretbox != nil:
		return newKeyed(providerSecretbox, p.Secretbox.Keys, s.Random, newSecretbox)
	case p.KMS != nil:
		return t.kms(p.KMS, s)
	default:
		return identity{}, nil // it has been validated that there is one
	}
}

func (t *Transformers) kms(c *apiserver.KMSConfiguration, s Surroundings) (provider, error) {
	if c.APIVersion != "v2" {
		return nil, errors.New("KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead." +
			"  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.")
	}
	sockets := s.Sockets
	if sockets == nil {
		sockets = kms.NewSockets(s.Timers)
	}
	conn, err := sockets.Dial(c.Endpoint, c.Timeout.Duration, s.Random)
	if err != nil {
		return nil, fmt.Errorf("could not configure KMSv2-Plugin's probe %q, error: %w", c.Name, err)
	}
	p := envelope.New(envelope.Config{
		Name: c.Name, Plugin: conn, Timers: s.Timers, Random: s.Random, HealthzExpires: s.HealthzExpires, Watched: s.Watched,
	})
	t.providers = append(t.providers, p)
	t.timeouts += c.Timeout.Duration
	t.took += p.Primed()
	return newKMS(p), nil
}

// For returns what is done to the values of a resource.
func (t *Transformers) For(gr schema.GroupResource) *Transformer {
	for _, key := range []schema.GroupResource{gr, {Group: gr.Group, Resource: "*"}, anyResource} {
		if of := t.overrides[key]; of != nil {
			return of
		}
	}
	return checkOnly
}

// Hash is that of the configuration, or empty.
func (t *Transformers) Hash() string { return t.hash }

// Took is how long Build has waited for plugins.
func (t *Transformers) Took() time.Duration { return t.took }

// KMS returns the KMS providers in the order of the configuration.
func (t *Transformers) KMS() []*envelope.Provider { return t.providers }

// grace is how long these transformers are kept when others have taken their place.
func (t *Transformers) grace() time.Duration { return 2 * t.timeouts }

// Check is the health check kms-providers: what is wrong with any KMS provider. The
// time is how long it took to find out.
func (t *Transformers) Check() (took time.Duration, err error) {
	var errs []error
	for i, p := range t.providers {
		d, err := p.Check()
		took += d
		if err != nil {
			errs = append(errs, fmt.Errorf("kms-provider-%d: %w", i, err))
		}
	}
	return took, utilerrors.Reduce(utilerrors.NewAggregate(errs))
}

// Snapshot returns the transformers as they are at this moment, for what a request
// encodes now and commits later.
func (t *Transformers) Snapshot() *Transformers {
	s := *t
	s.overrides, s.providers = make(map[schema.GroupResource]*Transformer, len(t.overrides)), nil
	for _, gr := range slices.SortedFunc(maps.Keys(t.overrides), compareResources) {
		of := t.overrides[gr]
		providers := make([]provider, len(of.providers))
		for i, p := range of.providers {
			if k, ok := p.(kmsProvider); ok {
				p = newKMS(k.Provider.Snapshot())
			}
			providers[i] = p
		}
		s.overrides[gr] = &Transformer{providers: providers}
	}
	return &s
}

func compareResources(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }

// Readers are the keys with which values of a resource can be opened, in the order in
// which they are tried. The first is the one that seals; if that is identity, it is the
// zero SealedBy. For a KMS provider the KEK is that with which it seals now; it opens
// what was sealed with any that its plugin still has.
func (t *Transformers) Readers(gr schema.GroupResource) []SealedBy {
	var out []SealedBy
	for _, p := range t.For(gr).providers {
		switch p := p.(type) {
		case *keyed:
			for i := range p.keys {
				out = append(out, SealedBy{Provider: p.name, Key: p.keys[i].name()})
			}
		case kmsProvider:
			out = append(out, SealedBy{Provider: providerKMS, Key: p.Name(), KEK: p.State().KeyID})
		default:
			out = append(out, SealedBy{})
		}
	}
	return out
}

// Close ends probes and connections.
func (t *Transformers) Close() {
	for _, p := range t.providers {
		p.Close()
	}
}
