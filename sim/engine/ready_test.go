package engine

import (
	"slices"
	"testing"
)

// The ring behaves as a slice under random pushes, takes and drops.
func TestReadyQueueAgainstASlice(t *testing.T) {
	for seed := range uint64(50) {
		r := prng(seed)
		var q readyQueue
		var model []*Task
		for range 2_000 {
			switch op := r.below(20); {
			case op < 10 && len(model) < 40:
				task := &Task{serial: r.next()}
				q.push(task)
				model = append(model, task)
			case op < 12 && len(model) > 0:
				if q.pop() != model[0] {
					t.Fatal("pop")
				}
				model = model[1:]
			case op < 19 && len(model) > 0:
				i := int(r.below(uint64(len(model))))
				if q.take(i) != model[i] {
					t.Fatalf("take %d of %d", i, len(model))
				}
				model = slices.Delete(slices.Clone(model), i, i+1)
			case op == 19:
				odd := func(t *Task) bool { return t.serial%4 == 1 }
				q.drop(odd)
				model = slices.DeleteFunc(slices.Clone(model), odd)
			}
			var got []*Task
			for i := range q.n {
				got = append(got, q.at(i))
			}
			if !slices.Equal(got, model) {
				t.Fatalf("%d tasks, want %d", len(got), len(model))
			}
			for i := q.n; i < len(q.buf); i++ {
				if q.at(i) != nil {
					t.Fatal("a task that is gone is still held")
				}
			}
		}
	}
}
