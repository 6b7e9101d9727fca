// Package sets stands in for the real one.
package sets

import (
	"cmp"
	"slices"
)

type Set[T comparable] map[T]struct{}

func New[T comparable](items ...T) Set[T] { return Set[T]{}.Insert(items...) }

func (s Set[T]) Insert(items ...T) Set[T] {
	for _, i := range items {
		s[i] = struct{}{}
	}
	return s
}

func (s Set[T]) UnsortedList() []T { return nil }

func List[T cmp.Ordered](s Set[T]) []T {
	l := s.UnsortedList()
	slices.Sort(l)
	return l
}
