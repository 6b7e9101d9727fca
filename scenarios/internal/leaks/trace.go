package leaks

import (
	"io"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Records returns a reader of a trace, which looks for secrets in every record as it is
// made, and tells found what it has found where. What a text says twice in a row is looked
// at once: most of a trace repeats itself.
func Records(x *Index, found func(where, what string)) func(engine.Record) {
	const remembered = 1 << 12
	clean := map[string]bool{} // of what is not new; empty again when there is too much of it
	secrets := 0
	look := func(r *engine.Record, text string) {
		if len(text) < shortest {
			return
		}
		if secrets != len(x.pieces) || len(clean) > remembered {
			clear(clean)
			secrets = len(x.pieces)
		}
		if clean[text] {
			return
		}
		what := x.FindIn(text)
		if what == "" {
			clean[text] = true
			return
		}
		found("the trace of "+r.Actor+", where it tells of "+r.Verb+",", what)
	}
	return func(r engine.Record) {
		look(&r, r.Object)
		look(&r, r.Detail)
		look(&r, r.State)
	}
}

// shortest is the length of the shortest piece of a secret.
const shortest = window

// Entropy returns a reader of entropy that tells learn what was read: what keys are made
// of is a secret before there is a key.
func Entropy(from io.Reader, learn func(raw []byte)) io.Reader { return entropy{from, learn} }

type entropy struct {
	from  io.Reader
	learn func(raw []byte)
}

// Read implements io.Reader.
func (e entropy) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.learn(p[:n])
	return n, err
}
