package home_test

import "testing"

// BenchmarkHostileWorld is one run of six hostile hours, with every property checked,
// on one processor.
func BenchmarkHostileWorld(b *testing.B) {
	r, files := read(b, "hostile/01-everything.yaml")
	b.ReportAllocs()
	for n := range b.N {
		if o := r.RunSeed(files[0], uint64(n)); !o.Line().Expected {
			b.Fatalf("seed %d: %s", n, o.Found)
		}
	}
}
