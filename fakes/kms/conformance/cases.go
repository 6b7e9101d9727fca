package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/encryption/kmscheck"
)

// Run runs all cases, each on a machine of its own.
func Run(t *testing.T, newMachine func(t *testing.T) Machine) {
	for _, c := range []struct {
		name string
		run  func(w *world)
	}{
		{"an API server takes what it says", takes},
		{"texts come back", comeBack},
		{"no two ciphertexts are alike", differ},
		{"nothing else comes back", nothingElse},
		{"what is too large is refused", tooLarge},
		{"rotations", rotations},
		{"it is killed", killed},
		{"a rotation while it is dead", rotatedWhileDead},
		{"replicas", replicas},
		{"versions far apart", versions},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&world{T: t, Machine: newMachine(t)}) })
	}
}

// takes holds the plugin to what the checker of plugins holds it to, again and again.
func takes(w *world) {
	first := w.status()
	for i := range 5 {
		id, err := kmscheck.Check(w.Context(), kmscheck.Config{
			Plugins: []service.Service{w.Plugin(), w.Plugin()}, CallTimeout: 10 * time.Second, Clock: w.Clock(),
			Entropy: strings.NewReader(fmt.Sprintf("%034d", i)),
		})
		if err != nil || id != first.KeyID {
			w.Errorf("the check names the key %q, error %v, and the status %q", id, err, first.KeyID)
		}
	}
}

func comeBack(w *world) {
	for _, n := range []int{1, 16, 31, 32, 33, 64, 512} {
		w.opens("at once", w.encrypt(strings.Repeat("x", n)))
	}
}

func differ(w *world) {
	seen := map[string]bool{}
	for range 50 {
		s := w.encrypt("one text")
		if seen[string(s.Ciphertext)] || bytes.Contains(s.Ciphertext, []byte(s.text)) {
			w.Errorf("the ciphertext %x was there before, or has the text in it", s.Ciphertext)
		}
		seen[string(s.Ciphertext)] = true
	}
}

// nothingElse sends back what no plugin has given like that.
func nothingElse(w *world) {
	first := w.encrypt("a text")
	other := w.encrypt("another text")
	w.Rotate()
	second := w.encrypt("a text")
	with := func(change func(r *service.DecryptRequest)) *service.DecryptRequest {
		r := first.request()
		r.Ciphertext, r.Annotations = slices.Clone(r.Ciphertext), maps.Clone(r.Annotations)
		change(r)
		return r
	}
	for i := range first.Ciphertext {
		w.refuses(fmt.Sprintf("a ciphertext with byte %d changed", i), with(func(r *service.DecryptRequest) { r.Ciphertext[i] ^= 1 }))
	}
	for _, c := range []struct {
		what string
		r    *service.DecryptRequest
	}{
		{"half a ciphertext", with(func(r *service.DecryptRequest) { r.Ciphertext = r.Ciphertext[:len(r.Ciphertext)/2] })},
		{"no ciphertext", with(func(r *service.DecryptRequest) { r.Ciphertext = nil })},
		{"a longer ciphertext", with(func(r *service.DecryptRequest) { r.Ciphertext = append(r.Ciphertext, 'x') })},
		{"two ciphertexts", with(func(r *service.DecryptRequest) { r.Ciphertext = append(r.Ciphertext, other.Ciphertext...) })},
		{"a ciphertext that is too long", with(func(r *service.DecryptRequest) { r.Ciphertext = make([]byte, kmscheck.CiphertextMax+1) })},
		{"no key id", with(func(r *service.DecryptRequest) { r.KeyID = "" })},
		{"another key id", with(func(r *service.DecryptRequest) { r.KeyID = second.KeyID })},
		{"a key id that nobody knows", with(func(r *service.DecryptRequest) { r.KeyID += "x" })},
		{"a key id that is too long", with(func(r *service.DecryptRequest) { r.KeyID = strings.Repeat("k", kmscheck.KeyIDMax+1) })},
		{"a ciphertext of another version", with(func(r *service.DecryptRequest) { r.Ciphertext = second.Ciphertext })},
		{"nothing at all", &service.DecryptRequest{}},
		{"a ciphertext of nobody's making", with(func(r *service.DecryptRequest) { r.Ciphertext = bytes.Repeat([]byte("v"), 60) })},
		{"a ciphertext with a head changed", with(func(r *service.DecryptRequest) { copy(r.Ciphertext, "\xff\xff\xff\xff") })},
	} {
		w.refuses(c.what, c.r)
	}
	w.opens("after all that", first)
	w.opens("after all that", second)
}

// tooLarge: what would make a ciphertext that API servers refuse is refused at once.
func tooLarge(w *world) {
	for _, n := range []int{kmscheck.CiphertextMax, kmscheck.CiphertextMax + 1, 100_000} {
		r, err := w.Plugin().Encrypt(w.Context(), "uid", make([]byte, n))
		if err == nil {
			w.Errorf("a text of %d bytes became a ciphertext of %d", n, len(r.Ciphertext))
		}
	}
	w.opens("after that", w.encrypt("a text"))
}

// rotations: each has a name that was never there before, and all that was ever sealed
// can be opened.
func rotations(w *world) {
	var all []sealed
	seen := map[string]bool{}
	for i := range 6 {
		if i > 0 {
			w.Rotate()
		}
		id := w.status().KeyID
		if seen[id] {
			w.Errorf("the id %q was there before", id)
		}
		seen[id] = true
		s := w.encrypt(fmt.Sprintf("text %d", i))
		if s.KeyID != id {
			w.Errorf("the status says %q, and what was encrypted %q", id, s.KeyID)
		}
		all = append(all, s)
		for _, s := range all {
			w.opens(fmt.Sprintf("after %d rotations", i), s)
		}
	}
}

func killed(w *world) {
	before := w.status()
	s := w.encrypt("a text")
	w.Rotate()
	after := w.status()
	for range 2 {
		w.Kill()
		w.dead()
		w.Start()
		if id := w.status().KeyID; id != after.KeyID || id == before.KeyID {
			w.Errorf("the key is called %q after a restart, %q before it, and %q before it was rotated", id, after.KeyID, before.KeyID)
		}
		w.opens("after a restart", s)
		w.opens("after a restart", w.encrypt("a text"))
	}
}

func rotatedWhileDead(w *world) {
	s := w.encrypt("a text")
	w.Kill()
	w.Rotate()
	w.Start()
	if id := w.status().KeyID; id == s.KeyID {
		w.Errorf("the key is called %q as before", id)
	}
	w.opens("rotated while it was dead", s)
}

// replicas of one key give it one name, and open what the others have sealed.
func replicas(w *world) {
	other := &world{T: w.T, Machine: w.Replica()}
	for i := range 3 {
		if i > 0 {
			w.Rotate()
			other = &world{T: w.T, Machine: other.Replica()}
		}
		if a, b := w.status().KeyID, other.status().KeyID; a != b {
			w.Errorf("after %d rotations one calls the key %q, and the other %q", i, a, b)
		}
		other.opens("by the other", w.encrypt("a text"))
		w.opens("by the other", other.encrypt("a text"))
	}
}

// versions that are far apart are not mistaken for each other.
func versions(w *world) {
	s := w.encrypt("a text")
	r := s.request()
	for range 3 {
		w.Rotate()
	}
	w.opens("later", s)
	r.Ciphertext = w.encrypt("a text").Ciphertext
	w.refuses("a ciphertext of a later version", r)
}
