package encryption_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestNoKeyWhileTheLastIsAwaited: whatever Key misses, once there is a key for it no
// other is made until State has taken that up, be that held up by other steps. Else
// Key would make one each time that it looks, and each would wake it again.
func TestNoKeyWhileTheLastIsAwaited(t *testing.T) {
	for name, row := range map[string]struct {
		build func(t *testing.T) *plant
		more  int    // keys that are made
		ends  string // the providers in the end
	}{
		"one resource for another": {func(t *testing.T) *plant {
			p, _ := two(t)
			p.remove()
			p.settle()
			p.grs = []schema.GroupResource{configMaps} // secrets have to leave first
			return p
		}, 0, "c1,i"},
		"one resource for another, and the key is deleted": {func(t *testing.T) *plant {
			p, _ := two(t)
			p.remove()
			p.settle()
			p.grs = []schema.GroupResource{configMaps}
			p.deleteByHand(p.keySecret(1))
			return p
		}, 1, "c2,i"},
	} {
		p := row.build(t)
		had := p.keys()
		for range 10 {
			must(t, p.sync())
		}
		if got := p.keys(); got != had+row.more {
			t.Errorf("%s: %d keys after ten looks, want %d", name, got, had+row.more)
		}
		p.finished = true
		p.pass(60)
		if got := p.keys(); got > had+row.more+1 {
			t.Errorf("%s: %d keys in the end", name, got)
		}
		if got := shortOf(t, p.deployed, p.grs[0].Resource); got != row.ends {
			t.Errorf("%s: deployed is %s in the end, want %s", name, got, row.ends)
		}
	}
}
