package apiserver

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

// Options configure a [Store]. The zero value of every field has a useful
// meaning.
type Options struct {
	// Clock gives creation and deletion timestamps, in whole seconds. Nil means
	// a clock that stands still at 2030-01-01T00:00:00Z.
	Clock clock.PassiveClock

	// Entropy is read for uids and for the suffixes of generated names. Nil
	// means a fixed sequence that starts anew with each Store.
	Entropy io.Reader

	// Scheme says which kinds are Go types. Nil means client-go's scheme. Kinds
	// that are not in it are unstructured.
	Scheme *runtime.Scheme

	// Authorizer is asked about every request that has a User. Nil allows all.
	Authorizer authz.Authorizer

	// RBAC makes the rules in the store's own Roles and bindings the authorizer.
	RBAC bool

	// ServiceAccounts turns the admission plug-in ServiceAccount on: a new Pod
	// needs an existing account, by default the one called default, and gets a
	// volume with its token. Real clusters have it on; envtest turns it off, as
	// nobody makes the accounts there. A real server waits up to two seconds for
	// the default account to appear; this one refuses at once.
	ServiceAccounts bool

	// Refused, if set, is told of every request that the authorizer refuses. It
	// must not make requests itself.
	Refused func(a *authz.Attributes)

	// DefaultRoles makes the roles and bindings that every real cluster has; see
	// [authz.Defaults].
	DefaultRoles bool

	// Logs answers for the kubelets when the log of a pod on a node is asked for.
	// Nil refuses it.
	Logs LogSource

	// History is how many events of each resource are remembered, for watches
	// from an old revision and for old lists; zero means 4096.
	History int

	// NoWatchList refuses watches that begin with the whole state
	// (sendInitialEvents), as API servers without the feature WatchList do. Their
	// clients list instead, from a watch cache that may be old.
	NoWatchList bool

	// Definitions remembers compiled CustomResourceDefinitions. Stores that share
	// one compile each only once. Nil means one of the store's own.
	Definitions *crd.Cache

	// Guard makes every read of a stored object check that nobody changed it in
	// place, and panic with its name and the difference if somebody did. It is
	// meant for tests and costs about as much as a copy.
	Guard bool
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = stillClock{}
	}
	if o.Entropy == nil {
		o.Entropy = &sequence{}
	}
	if o.Definitions == nil {
		o.Definitions = &crd.Cache{}
	}
	if o.Scheme == nil {
		o.Scheme = clientscheme.Scheme
	}
}

// stillClock is a clock that does not move.
type stillClock struct{}

func (stillClock) Now() time.Time                    { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }
func (c stillClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// sequence is the default source of entropy: splitmix64 from a fixed seed.
type sequence struct{ state uint64 }

func (s *sequence) Read(p []byte) (int, error) {
	for i := 0; i < len(p); i += 8 {
		s.state += 0x9e3779b97f4a7c15
		z := s.state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], z)
		copy(p[i:], b[:])
	}
	return len(p), nil
}

// random reads n bytes of entropy. A reader that fails leaves zeros: uids are
// then no longer unique, which a test notices at once.
func (st *Store) random(b []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	_, _ = io.ReadFull(st.opts.Entropy, b)
}

// newUID returns a random UUID, version 4.
func (st *Store) newUID() types.UID {
	var b [16]byte
	st.random(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[:], b[:4])
	s[8] = '-'
	hex.Encode(s[9:], b[4:6])
	s[13] = '-'
	hex.Encode(s[14:], b[6:8])
	s[18] = '-'
	hex.Encode(s[19:], b[8:10])
	s[23] = '-'
	hex.Encode(s[24:], b[10:])
	return types.UID(s[:])
}

const (
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength  = 5
	nameLimit     = 63
)

// generateName returns base with a random suffix.
func (st *Store) generateName(base string) string {
	if len(base) > nameLimit-suffixLength {
		base = base[:nameLimit-suffixLength]
	}
	var b [suffixLength]byte
	st.random(b[:])
	for i := range b {
		b[i] = suffixLetters[int(b[i])%len(suffixLetters)]
	}
	return base + string(b[:])
}
