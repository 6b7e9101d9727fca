package live

import (
	"testing"
	"time"
)

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string]Speed{"real": 1, "max": Max, "10": 10, "0.5": 0.5, "1": Real} {
		got, err := ParseSpeed(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, _ := ParseSpeed(got.String()); again != got {
			t.Errorf("%v is printed as %q", got, got.String())
		}
	}
	for _, text := range []string{"", "fast", "0", "-1", "NaN", "inf", "1e9"} {
		if got, err := ParseSpeed(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	p := pace{speed: 10}
	p.anchor(0, start)
	if got := p.limit(0, at(2)); got != 20*time.Second {
		t.Errorf("after 2 s at ten times the speed: %v", got)
	}
	if got := p.wait(20*time.Second, 25*time.Second); got != 500*time.Millisecond+1 {
		t.Errorf("5 s at ten times the speed take %v", got)
	}
	// Late by more than a second of real time: it does not run after that.
	p.late(5*time.Second, 20*time.Second, at(2))
	if got := p.limit(5*time.Second, at(3)); got != 15*time.Second || p.behind != 15*time.Second {
		t.Errorf("late: may go to %v, and is behind by %v", got, p.behind)
	}
	p.late(14*time.Second, 15*time.Second, at(3))
	if p.behind != 15*time.Second {
		t.Error("a little late counts")
	}
	p.paused = true
	if got := p.limit(15*time.Second, at(9)); got != 15*time.Second {
		t.Errorf("paused: may go to %v", got)
	}
	p.stepTo = 16 * time.Second
	if got := p.limit(15*time.Second, at(9)); got != 16*time.Second {
		t.Errorf("a step while paused: may go to %v", got)
	}
	p = pace{speed: Max}
	if p.limit(0, start) != forever || p.wait(0, 1) != forever {
		t.Error("the highest speed waits")
	}
}
