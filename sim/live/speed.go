package live

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Speed is how fast virtual time passes: how much of it in each unit of real time.
type Speed float64

// Speeds with a name.
const (
	Real Speed = 1
	// Max is from event to event, without waiting.
	Max Speed = math.MaxFloat64
)

// fastest is the highest speed that is a number. Beyond it Max is meant.
const fastest = 1_000_000

// ParseSpeed reads real, max or a number above zero.
func ParseSpeed(text string) (Speed, error) {
	switch text {
	case "real":
		return Real, nil
	case "max":
		return Max, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > fastest {
		return 0, fmt.Errorf("%q is not a speed; write real, max, or how many times as fast as real time, such as 10 or 0.5", text)
	}
	return Speed(n), nil
}

// String is what ParseSpeed reads.
func (s Speed) String() string {
	switch s {
	case Real:
		return "real"
	case Max:
		return "max"
	}
	return strconv.FormatFloat(float64(s), 'f', -1, 64)
}

const (
	// slice is how much virtual time passes at most before somebody outside is
	// listened to.
	slice = 10 * time.Millisecond

	// patience is by how much, in real time, a run may be late before it gives up
	// making up for it.
	patience = time.Second

	forever = time.Duration(math.MaxInt64)
)

// pace says how far virtual time should have come.
type pace struct {
	speed  Speed
	paused bool
	from   time.Duration // virtual time at since
	since  time.Time
	behind time.Duration // virtual time that was given up
	stepTo time.Duration // where the present step ends
}

// anchor makes the present moment the one from which pace is counted.
func (p *pace) anchor(elapsed time.Duration, wall time.Time) { p.from, p.since = elapsed, wall }

// limit is how far virtual time may go now.
func (p *pace) limit(elapsed time.Duration, wall time.Time) time.Duration {
	switch {
	case p.stepTo > elapsed:
		return p.stepTo
	case p.paused:
		return elapsed
	case p.speed == Max:
		return forever
	}
	return max(elapsed, p.from+time.Duration(float64(wall.Sub(p.since))*float64(p.speed)))
}

// wait is how long in real time it takes for virtual time to get from limit to next.
func (p *pace) wait(limit, next time.Duration) time.Duration {
	if p.paused || p.speed == Max {
		return forever
	}
	d := float64(next-limit) / float64(p.speed)
	return time.Duration(min(d, float64(time.Hour))) + 1
}

// late gives up what the run is behind by too much.
func (p *pace) late(elapsed, limit time.Duration, wall time.Time) {
	if limit == forever || p.stepTo > elapsed {
		return
	}
	if behind := limit - elapsed; float64(behind) > float64(patience)*float64(p.speed) {
		p.behind += behind
		p.anchor(elapsed, wall)
	}
}
