package envelope

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/kms/pkg/service"

	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"

	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// Plugin is what a provider calls. Each call comes back at once, with the time that it
// takes.
type Plugin interface {
	Status() (*service.StatusResponse, time.Duration, error)
	Encrypt(uid string, data []byte) (*service.EncryptResponse, time.Duration, error)
	Decrypt(uid string, req *service.DecryptRequest) ([]byte, time.Duration, error)
}

// Config is what a provider consists of.
type Config struct {
	// Name is that of the provider in the EncryptionConfiguration.
	Name string

	// Plugin is called, and closed with the provider if it can be.
	Plugin Plugin

	// Timers are those of the process that the provider is in.
	Timers kms.Timers

	// Random is read for seeds, nonces and uids of calls.
	Random io.Reader

	// HealthzExpires lets what is in force expire while the plugin says that it is
	// not healthy. Servers up to v1.37 go on writing as long as the plugin still
	// answers with the same key id (kubernetes/kubernetes 138950); this is how they
	// would behave without that defect.
	HealthzExpires bool

	// Watched says that somebody asks readyz or healthz of the server all the time,
	// as a kubelet does. Then Status is asked every 20 s, and every 3 s while
	// something is wrong, instead of 60 s and 10 s.
	Watched bool

	// Changed, if set, is called whenever what is in force for writing changes.
	Changed func()
}

// Provider is a KMS v2 provider in one process of an API server.
type Provider struct {
	cfg     Config
	current state
	version string // of the protocol, in the first answer
	seeds   map[[32]byte]cached

	last    result
	probing bool // the answer to a probe is on its way
	waiting bool // the loop waits for things to get better
	primed  time.Duration
	closed  bool
}

// state is what is in force for writing.
type state struct {
	seed    *seed // nil before the first good probe
	object  *kmstypes.EncryptedObject
	source  [32]byte
	expires time.Time
}

// New makes a provider and asks the plugin for Status, once and inline. That the answer
// is bad is no error; [Provider.Check] says so.
func New(cfg Config) *Provider {
	p := &Provider{cfg: cfg, seeds: map[[32]byte]cached{}}
	p.prime()
	return p
}

// Name is that of the provider in the EncryptionConfiguration.
func (p *Provider) Name() string { return p.cfg.Name }

// Primed is how long the calls took that New has made.
func (p *Provider) Primed() time.Duration { return p.primed }

// Snapshot returns the provider as it is at this moment, for what is still to be sealed
// as if it was now. It does not probe, and need not be closed.
func (p *Provider) Snapshot() *Provider {
	s := *p
	s.closed = true
	s.cfg.Timers = stopped{p.cfg.Timers.Now()}
	return &s
}

// stopped is time that does not pass.
type stopped struct{ now time.Time }

func (s stopped) Now() time.Time                            { return s.now }
func (stopped) After(time.Duration, func()) (cancel func()) { return func() {} }

// Close ends the provider: it does not probe any more, and calls no plugin.
func (p *Provider) Close() {
	p.closed = true
	if c, ok := p.cfg.Plugin.(interface{ Close() }); ok {
		c.Close()
	}
}

// State is what a provider writes with.
type State struct {
	KeyID       string    // of the plugin's key, empty before the first good probe
	Expires     time.Time // when writing ends, unless another probe is good
	Fingerprint Fingerprint
}

// State returns what the provider writes with now.
func (p *Provider) State() State {
	s := State{KeyID: p.current.object.GetKeyID(), Expires: p.current.expires}
	if p.current.seed != nil {
		s.Fingerprint = p.current.seed.fingerprint
	}
	return s
}

var errNoSeed = errors.New("got unexpected nil transformer")

// Seal seals text as the value at path. It returns what is stored after the prefix, in
// both of its forms.
func (p *Provider) Seal(path string, text []byte) ([]byte, *Stored, error) {
	s := &p.current
	if s.seed == nil {
		return nil, nil, errNoSeed
	}
	if now := p.cfg.Timers.Now(); now.After(s.expires) {
		return nil, nil, fmt.Errorf("encryptedDEKSource with keyID hash %q expired at %s (current time is %s)",
			hashOf(s.object.KeyID), s.expires.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	p.remember(s.source, s.seed)
	sealed, err := s.seed.seal(p.cfg.Random, path, text)
	if err != nil {
		return nil, nil, err
	}
	o := &kmstypes.EncryptedObject{
		KeyID: s.object.KeyID, EncryptedDEKSource: s.object.EncryptedDEKSource, Annotations: s.object.Annotations,
		EncryptedDEKSourceType: s.object.EncryptedDEKSourceType, EncryptedData: sealed,
	}
	data, err := encode(o)
	if err != nil {
		return nil, nil, err
	}
	return data, &Stored{object: o, source: s.source}, nil
}

// Key returns the fingerprint of the seed that a stored value wants, which the plugin
// may have to decrypt; took is how long that took. Stale says that the value would be
// sealed in another way if it was written now.
func (p *Provider) Key(s *Stored) (key Fingerprint, stale bool, took time.Duration, err error) {
	seed, took, err := p.seedOf(s)
	if err != nil {
		return Fingerprint{}, false, took, err
	}
	return seed.fingerprint, p.stale(s), took, nil
}

// Open opens a stored value that is at path.
func (p *Provider) Open(path string, s *Stored) (text []byte, stale bool, took time.Duration, err error) {
	seed, took, err := p.seedOf(s)
	if err != nil {
		return nil, false, took, err
	}
	text, err = seed.open(path, s.object.EncryptedData)
	if err != nil {
		return nil, false, took, err
	}
	return text, p.stale(s), took, nil
}

func (p *Provider) stale(s *Stored) bool {
	return s.object.KeyID != p.current.object.KeyID || s.object.EncryptedDEKSourceType != p.current.object.EncryptedDEKSourceType
}

// seedOf returns the seed of a stored value. Before the first good probe there is none,
// even for values whose seed the plugin would decrypt.
func (p *Provider) seedOf(s *Stored) (*seed, time.Duration, error) {
	if p.current.seed == nil {
		return nil, 0, errNoSeed
	}
	if c, ok := p.seeds[s.source]; ok {
		return c.seed, 0, nil
	}
	o := s.object
	secret, took, err := p.cfg.Plugin.Decrypt(p.uid(), &service.DecryptRequest{
		Ciphertext: o.EncryptedDEKSource, KeyID: o.KeyID, Annotations: o.Annotations,
	})
	if err != nil {
		return nil, took, fmt.Errorf("failed to decrypt DEK, error: %w", err)
	}
	seed, err := newSeed(secret, s.derives())
	if err != nil {
		return nil, took, err
	}
	p.remember(s.source, seed)
	return seed, took, nil
}

// remember keeps a seed, and forgets those that are too old.
func (p *Provider) remember(source [32]byte, s *seed) {
	now := p.cfg.Timers.Now()
	for k, c := range p.seeds {
		if c.expires.Before(now) {
			delete(p.seeds, k)
		}
	}
	p.seeds[source] = cached{seed: s, expires: now.Add(cacheTTL)}
}

// Seeds is how many seeds are remembered.
func (p *Provider) Seeds() int { return len(p.seeds) }

// uid is a random UUID, version 4, by which a call is found in logs.
func (p *Provider) uid() string {
	var b [16]byte
	_, _ = io.ReadFull(p.cfg.Random, b[:]) // a uid that is not unique does no harm
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
