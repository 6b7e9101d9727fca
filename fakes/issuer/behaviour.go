package issuer

import (
	"context"
	"time"
)

// Behaviour is what the issuer does wrong.
type Behaviour struct {
	// Times is how many requests it is for; zero means one, Always means all.
	Times int

	// Path is the path that it is for; empty means the grant endpoint's.
	Path string

	// Latency passes before the answer. Hang keeps the request until its context ends.
	Latency time.Duration
	Hang    bool

	// Err is an error in place of an answer. Status is one in place of 200, with a
	// header of the name RetryAfter: a redirect is Status 307.
	Err        error
	Status     int
	RetryAfter string

	// What is wrong with the grant.
	Garbage, Truncated, TooLarge bool
	WrongUID, WrongKey           bool
	Expired, NoExpiry            bool
}

// Always is the Times of a behaviour that does not end by itself.
const Always = -1

// Behave makes the issuer behave so, after what it has been told before.
func (i *Issuer) Behave(b Behaviour) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if b.Path == "" {
		b.Path = grantPath
	}
	i.behaviours = append(i.behaviours, &b)
}

// BehaveWell ends everything that Behave began.
func (i *Issuer) BehaveWell() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.behaviours = nil
}

// behaviour takes the first behaviour for a path.
func (i *Issuer) behaviour(path string) Behaviour {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, b := range i.behaviours {
		if b.Path != path {
			continue
		}
		now := *b
		switch {
		case b.Times == Always:
		case b.Times <= 1:
			i.behaviours = append(i.behaviours[:n:n], i.behaviours[n+1:]...)
		default:
			b.Times--
		}
		return now
	}
	return Behaviour{}
}

func (b Behaviour) delay(ctx context.Context, clock Clock) error {
	if err := clock.Sleep(ctx, b.Latency); err != nil {
		return err
	}
	for b.Hang {
		if err := clock.Sleep(ctx, time.Hour); err != nil {
			return err
		}
	}
	return nil
}

// lease is how long a grant is good for, if it should be usual; zero means for ever.
func (b Behaviour) lease(usual time.Duration) time.Duration {
	switch {
	case b.NoExpiry:
		return 0
	case b.Expired:
		return -time.Minute
	default:
		return usual
	}
}

// spoil returns what becomes of a token.
func (b Behaviour) spoil(token []byte) []byte {
	switch {
	case b.Garbage:
		return []byte("<html>it works</html>")
	case b.Truncated:
		return token[:len(token)/2]
	case b.TooLarge:
		return append(token, make([]byte, 9<<10)...)
	default:
		return token
	}
}
