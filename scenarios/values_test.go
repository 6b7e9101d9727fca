package scenarios

import (
	"testing"
	"time"
)

func TestDurationsNeedTheirUnit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "250ms": 250 * time.Millisecond, "30s": 30 * time.Second, "1m30s": 90 * time.Second, "1.5h": 90 * time.Minute, "2h0m": 2 * time.Hour,
	} {
		var d Duration
		if err := d.ParseText(text); err != nil || d.Std() != want {
			t.Errorf("%s: %v, %v", text, d.Std(), err)
		}
	}
	for text, want := range map[string]string{
		"":            `a duration is missing; write one such as 30s`,
		"30":          `"30" has no unit; write 30s, 30m or another duration: the units are ms, s, m and h`,
		"5 minutes":   `"5 minutes" is not a duration; write 5m: the units are ms, s, m and h`,
		"2 Hours":     `"2 Hours" is not a duration; write 2h: the units are ms, s, m and h`,
		"7d":          `"7d" has the unknown unit "d": the units are ms, s, m and h`,
		"-5s":         `"-5s" is negative; a duration is not`,
		"soon":        `"soon" is not a duration such as 250ms, 30s or 1m30s: the units are ms, s, m and h`,
		"9999999999h": `"9999999999h" is longer than can be simulated`,
	} {
		var d Duration
		if err := d.ParseText(text); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestSpansOffsetsAndDrifts(t *testing.T) {
	var s Span
	if err := s.ParseText("1s..2m"); err != nil || s.String() != "1s..2m" || s.dist().Max != 2*time.Minute {
		t.Errorf("%v %v", s, err)
	}
	if err := s.ParseText("5s"); err != nil || s.String() != "5s" {
		t.Errorf("%v %v", s, err)
	}
	for _, bad := range []string{"2s..1s", "..1s", "1s..", "1s...2s"} {
		if err := s.ParseText(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	var o Offset
	if err := o.ParseText("-2m"); err != nil || o.String() != "-2m" {
		t.Errorf("%v %v", o, err)
	}
	if err := o.ParseText("+5s"); err != nil || o.String() != "+5s" {
		t.Errorf("%v %v", o, err)
	}
	var d Drift
	if err := d.ParseText("-50ppm"); err != nil || d.String() != "-50ppm" {
		t.Errorf("%v %v", d, err)
	}
	for _, bad := range []string{"50", "1e3ppm", "600000ppm"} {
		if err := d.ParseText(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestRatesArePercentages(t *testing.T) {
	for text, want := range map[string]Rate{"0%": 0, "5%": 50_000, "0.1%": 1_000, "0.0001%": 1, "100%": 1_000_000, "12.50%": 125_000} {
		var r Rate
		if err := r.ParseText(text); err != nil || r != want {
			t.Errorf("%s: %d, %v", text, r, err)
		}
	}
	if text := Rate(1_500).String(); text != "0.15%" {
		t.Error(text)
	}
	for text, want := range map[string]string{
		"0.05":     `"0.05" has no unit; write a percentage: 5%`,
		"5":        `"5" has no unit; write a percentage such as 5% or 0.1%`,
		"5‰":       `"5‰" is not a rate; write a percentage such as 5% or 0.1%`,
		"-1%":      `"-1%" is not a percentage such as 5% or 0.1%`,
		"101%":     `"101%" is more than 100%`,
		"0.00005%": `"0.00005%" is finer than 0.0001%, the smallest rate`,
	} {
		var r Rate
		if err := r.ParseText(text); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestWordsForPeople(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Count(1, "run"), "1 run"}, {Count(1234567, "run"), "1,234,567 runs"}, {Count(2, "property"), "2 properties"}, {Count(3, "switch"), "3 switches"},
		{Roughly(42 * time.Second), "42s"}, {Roughly(200 * time.Second), "3m20s"}, {Roughly(3 * time.Hour), "3h"}, {Roughly(77 * time.Hour), "3.2 days"},
		{clockText(62*time.Second + 5*time.Millisecond), "1:02.005"}, {clip("abcdef", 4), "abc…"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestTheEnvironmentSteersTests(t *testing.T) {
	passing, showing := &File{}, &File{}
	passing.Explore.Seeds, showing.Explore.Seeds, showing.Expect.Violates = 50, 50, "x"
	want := func(file *File, first uint64, seeds int, untilShown bool) {
		t.Helper()
		plan, err := testPlan(file)
		if err != nil || plan.First != first || plan.Seeds != seeds || plan.UntilShown != untilShown {
			t.Errorf("seeds %d from %d, until shown %v, error %v", plan.Seeds, plan.First, plan.UntilShown, err)
		}
	}
	t.Setenv("SEEDBED_SEEDS", "")
	t.Setenv("SEEDBED_SEED", "")
	want(passing, 0, fewSeeds, false)
	want(showing, 0, 50, true)
	t.Setenv("SEEDBED_SEEDS", "1000")
	want(passing, 0, 1000, false)
	want(showing, 0, 1000, true)
	t.Setenv("SEEDBED_SEED", "7")
	want(passing, 7, 1, false)
	want(showing, 7, 1, false)
	for _, bad := range []string{"x", "-1"} {
		t.Setenv("SEEDBED_SEED", bad)
		if _, err := testPlan(passing); err == nil || err.Error() != "SEEDBED_SEED=\""+bad+"\" is not a seed" {
			t.Error(err)
		}
	}
	t.Setenv("SEEDBED_SEEDS", "0")
	if _, err := testPlan(passing); err == nil || err.Error() != `SEEDBED_SEEDS="0" is not a number of seeds` {
		t.Error(err)
	}
	if _, err := expand([]string{"nothing/*.yaml"}); err == nil || err.Error() != `no scenario file matches "nothing/*.yaml"` {
		t.Error(err)
	}
	if _, err := expand(nil); err == nil {
		t.Error("no patterns were accepted")
	}
}
