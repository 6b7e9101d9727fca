package kms

import (
	"time"

	"k8s.io/kms/pkg/service"
)

// Call is a call to a plugin.
type Call string

// Calls.
const (
	Status  Call = "Status"
	Encrypt Call = "Encrypt"
	Decrypt Call = "Decrypt"
)

// Behaviour is how a plugin departs from a good one. The zero Behaviour is good.
type Behaviour struct {
	// Latency is how long each call takes, LatencyOf what some calls take more.
	Latency   time.Duration
	LatencyOf map[Call]time.Duration

	// Down is the error of each call that it has an entry for. A plugin that is
	// down for all of them may as well not run.
	Down map[Call]error

	// Healthz is what Status says; empty for "ok".
	Healthz string

	// Version is what Status says; empty for "v2".
	Version string

	// StatusKeyID is what Status says instead of the id that it should: one that is
	// stale, or another each time; see [FlipFlop].
	StatusKeyID func(id string) string

	// Encrypted changes the answer to Encrypt, Decrypted that to Decrypt.
	Encrypted func(r *service.EncryptResponse)
	Decrypted func(text []byte) []byte
}

// Outage is the behaviour of a plugin for which those calls fail; all, if none are
// named.
func Outage(err error, calls ...Call) Behaviour {
	if len(calls) == 0 {
		calls = []Call{Status, Encrypt, Decrypt}
	}
	b := Behaviour{Down: map[Call]error{}}
	for _, c := range calls {
		b.Down[c] = err
	}
	return b
}

// FlipFlop is a StatusKeyID that says one id after the other, over and over. The
// empty string stands for the id that the plugin should say.
func FlipFlop(ids ...string) func(id string) string {
	n := 0
	return func(id string) string {
		said := ids[n%len(ids)]
		n++
		if said == "" {
			return id
		}
		return said
	}
}

// Stale is a StatusKeyID that goes on saying an id whatever happens.
func Stale(id string) func(string) string { return func(string) string { return id } }
