package engine

// NewBytes returns the source that reads its answers from data, such as the input
// of a native fuzz test: the fuzzer's coverage then guides the exploration. Small
// choices take one byte, larger ones two or more; scheduling decisions take one
// byte each. When data is used up every answer is 0, the simplest.
func NewBytes(data []byte) Source { return &byteSource{data: data} }

type byteSource struct {
	data []byte
	pos  int
}

func (b *byteSource) Begin() { b.pos = 0 }

func (b *byteSource) Entropy() uint64 { return b.read(2) }

func (b *byteSource) Stream(string) Chooser { return b }

// read returns the next n bytes as a number.
func (b *byteSource) read(n int) (x uint64) {
	for range n {
		x <<= 8
		if b.pos < len(b.data) {
			x |= uint64(b.data[b.pos])
			b.pos++
		}
	}
	return x
}

// Choose implements Chooser.
func (b *byteSource) Choose(c Choice) uint64 {
	levels := coarseness(c)
	n := 1
	for n < 8 && levels>>(8*n) != 0 {
		n++
	}
	return coarse(c, b.read(n), 1<<(8*n)-1)
}

func (b *byteSource) Next(c *Contention) int {
	x := b.read(1)
	if c.Len() > 256 {
		x = x<<8 | b.read(1)
	}
	return int((uint64(c.Default()) + x) % uint64(c.Len()))
}

// coarseness returns the highest number that a source with few bits to spend
// should draw for a choice.
func coarseness(c Choice) uint64 {
	switch c.Shape {
	case Rare:
		return 1<<8 - 1
	case Decay:
		return 1<<16 - 1
	default:
		return c.N - 1
	}
}

// coarse maps x in [0, top] to an outcome; 0 to the first and top to the last.
func coarse(c Choice, x, top uint64) uint64 {
	switch {
	case c.Shape == Even && top == c.N-1:
		return x
	case x >= top:
		return c.Outcome(1<<64 - 1)
	}
	return c.Outcome(x * ((1<<64 - 1) / top))
}
