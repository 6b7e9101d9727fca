package store

import (
	"sort"
	"strconv"
	"sync"
)

// Config sets a store up. The zero value is usable.
type Config struct {
	// History is how many events each table remembers; zero means 4096.
	History int

	// Check, if set, is called with every object that is read, and with a copy
	// that was made when it was stored. It should panic if they differ: then
	// somebody changed a shared object. It makes every write cost a copy.
	Check func(table string, k Key, stored, asWritten Object)

	// Carry makes the mark of a version that was written without one, out of the
	// version before. It must not use the store. Nil means the mark of before.
	Carry func(before Mark, obj Object) Mark
}

// Store is a set of tables with one revision counter. The first revision is 1.
type Store struct {
	mu     sync.Mutex
	cfg    Config
	rev    uint64
	tables map[string]*Table
	names  []string // of tables, sorted

	compacted uint64 // old lists from before this revision are refused
	cursors   uint64 // number of cursors ever opened: their order
	wake      []*Cursor
}

// New returns an empty store.
func New(cfg Config) *Store {
	if cfg.History <= 0 {
		cfg.History = 4096
	}
	return &Store{cfg: cfg, tables: map[string]*Table{}}
}

// Table returns the table called name, which exists from its first use on.
func (s *Store) Table(name string) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tables[name]
	if !ok {
		t = newTable(s, name)
		s.tables[name] = t
		i := sort.SearchStrings(s.names, name)
		s.names = append(s.names, "")
		copy(s.names[i+1:], s.names[i:])
		s.names[i] = name
	}
	return t
}

// Tables returns the names of all tables, sorted.
func (s *Store) Tables() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names...)
}

// Revision returns the revision of the last write, or zero.
func (s *Store) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rev
}

// Advance makes n empty revisions, as writes to something else would.
func (s *Store) Advance(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev += n
}

// Compacted returns the revision before which old lists are refused.
func (s *Store) Compacted() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compacted
}

// Compact refuses lists at revisions before rev from now on. Watches are not
// disturbed: like a watch cache, a table still remembers its events.
func (s *Store) Compact(rev uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compact(rev)
}

func (s *Store) compact(rev uint64) {
	if rev > s.rev {
		rev = s.rev
	}
	if rev > s.compacted {
		s.compacted = rev
	}
}

// Forget drops all history: only the present state is left. Old lists and
// watches from before now are refused. Open cursors keep what they have not
// yet read.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compact(s.rev)
	for _, name := range s.names {
		t := s.tables[name]
		t.history = ring{limit: s.cfg.History}
		t.since = s.rev
	}
}

// next takes a new revision and writes it into obj.
func (s *Store) next(obj Object) uint64 {
	s.rev++
	obj.SetResourceVersion(strconv.FormatUint(s.rev, 10))
	return s.rev
}

// unlock ends a critical section that may have made cursors ready, and tells
// their readers.
func (s *Store) unlock() {
	if len(s.wake) == 0 {
		s.mu.Unlock()
		return
	}
	wake := s.wake
	if len(wake) == 1 { // by far the most frequent case
		fn := wake[0].notify
		s.wake = wake[:0]
		s.mu.Unlock()
		fn()
		return
	}
	s.wake = nil
	sort.Slice(wake, func(i, j int) bool { return wake[i].id < wake[j].id })
	notify := make([]func(), 0, len(wake))
	for _, c := range wake {
		notify = append(notify, c.notify)
	}
	s.mu.Unlock()
	for _, fn := range notify {
		fn()
	}
}
