package gossipkeys_test

import (
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// stance reads "AB in out": a ring, and which verify flags are set.
func stance(s string) gossipkeys.Stance {
	var out gossipkeys.Stance
	for i, word := range strings.Fields(s) {
		switch {
		case word == "in":
			out.VerifyIncoming = true
		case word == "out":
			out.VerifyOutgoing = true
		case i == 0 && word != "-":
			out.Ring = strings.Split(word, "")
		}
	}
	return out
}

// Section 8.
func TestTalks(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		want     bool
		why      string
	}{
		{"A in out", "A in out", true, "one key"},
		{"A in out", "BA in out", true, "a secondary decrypts"},
		{"BA in out", "A in out", false, "only the primary encrypts"},
		{"AB in out", "BA in out", true, "each knows the other's primary"},
		{"A in out", "B in out", false, "nothing in common"},
		{"- in out", "- in out", true, "the flags mean nothing without a ring"},
		{"- in out", "A in out", false, "plaintext is refused"},
		{"- in out", "A out", true, "plaintext is accepted"},
		{"A in out", "-", false, "nothing to decrypt with"},
		{"A in", "A in out", false, "has a key, speaks in clear"},
		{"A in", "A out", true, "in clear to one who accepts it"},
		{"A", "-", true, "in clear to one without a ring"},
		{"A in out", "B out", false, "ciphertext is no plaintext"},
	} {
		if got := gossipkeys.Talks(stance(tc.from), stance(tc.to)); got != tc.want {
			t.Errorf("%q to %q: %t, want %t: %s", tc.from, tc.to, got, tc.want, tc.why)
		}
	}
}

// Section 10: every mix of two consecutive steps of turning encryption on
// talks, and leaving a step out splits.
func TestTurningEncryptionOn(t *testing.T) {
	steps := []string{"-", "A", "A out", "A in out"}
	for i, a := range steps {
		for j, b := range steps {
			_, _, ok := gossipkeys.AllTalk([]gossipkeys.Stance{stance(a), stance(b)})
			if want := i-j <= 1 && j-i <= 1; ok != want {
				t.Errorf("%q with %q: %t, want %t", a, b, ok, want)
			}
		}
	}
}

func TestAllTalkNamesWhoIsDeafToWhom(t *testing.T) {
	from, to, ok := gossipkeys.AllTalk([]gossipkeys.Stance{stance("A in out"), stance("AB in out"), stance("BA in out")})
	if ok || from != 2 || to != 0 {
		t.Errorf("got %d to %d, %t; want 2 to 0", from, to, ok)
	}
	if _, _, ok := gossipkeys.AllTalk(nil); !ok {
		t.Error("nobody is deaf to nobody")
	}
}

// Invariant 15, for any number of old keys: lists of neighbouring steps talk,
// and of the others at least two do not.
func TestStepsAreAdjacent(t *testing.T) {
	steps := []gossipkeys.Step{gossipkeys.StepOld, gossipkeys.StepAdded, gossipkeys.StepFlipped, gossipkeys.StepDropped}
	for _, old := range []string{"A", "AB", "ABC"} {
		list := func(s gossipkeys.Step) string { return letters(gossipkeys.StepKeys(keys(old), key('N'), s)) }
		for _, a := range steps {
			for _, b := range steps {
				talk := gossipkeys.Adjacent(strings.Split(list(a), ""), strings.Split(list(b), ""))
				if talk != a.Adjacent(b) {
					t.Errorf("%s %s with %s %s: talk %t, adjacent %t", a, list(a), b, list(b), talk, a.Adjacent(b))
				}
			}
		}
	}
	if got := letters(gossipkeys.StepKeys(keys("AB"), key('N'), gossipkeys.StepFlipped)); got != "NAB" {
		t.Errorf("flipped: %s", got)
	}
}

func TestStepNames(t *testing.T) {
	for s := gossipkeys.StepOld; s <= gossipkeys.StepDropped; s++ {
		name, _ := s.MarshalText()
		var back gossipkeys.Step
		if err := back.UnmarshalText(name); err != nil || back != s {
			t.Errorf("%s came back as %s, %v", name, back, err)
		}
	}
	var s gossipkeys.Step
	if err := s.UnmarshalText([]byte("sideways")); err == nil || gossipkeys.Step(9).String() != "step 9" {
		t.Error("unknown steps are errors, and print as numbers")
	}
}

// CheckEdit allows exactly the edits between adjacent lists.
func TestCheckEdit(t *testing.T) {
	for _, from := range lists("ABC") {
		for _, to := range lists("ABC") {
			err := gossipkeys.CheckEdit(keys(from), keys(to))
			adjacent := gossipkeys.Adjacent(strings.Split(from, ""), strings.Split(to, ""))
			if (err == nil) != adjacent {
				t.Errorf("%s to %s: %v, adjacent %t", from, to, err, adjacent)
			}
		}
	}
	for _, tc := range []struct{ from, to, why string }{
		{"A", "BA", "not yet in every ring"}, // the most likely typo: the new key on top
		{"A", "B", "not yet in every ring"},
		{"AB", "B", "would be dropped"},
		{"A", "", "at least one key"},
		{"", "A", "has no key"},
	} {
		err := gossipkeys.CheckEdit(keys(tc.from), keys(tc.to))
		if err == nil || !strings.Contains(err.Error(), tc.why) || leaks(err.Error(), 'A')+leaks(err.Error(), 'B') != "" {
			t.Errorf("%s to %s: %v, want %q", tc.from, tc.to, err, tc.why)
		}
	}
}
