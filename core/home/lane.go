package home

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// GrantEventKind says what has happened to a grant.
type GrantEventKind string

// Kinds of events.
const (
	GrantAdded   GrantEventKind = "GrantAdded" // or renewed
	GrantRemoved GrantEventKind = "GrantRemoved"
)

// GrantEvent is a grant that came or went. The lane's word is authority, but it judges
// no token: one that is added may be garbage.
type GrantEvent struct {
	Kind  GrantEventKind
	Token secret.Bytes // of a grant that is added
	UID   string       // of a grant that is removed
}

// laneBuffer is how many events wait for who reads them.
const laneBuffer = 16

// Lane is the way that grants take. One task reads it.
type Lane struct {
	filled, drained clock.Signal

	mu     sync.Mutex
	events []GrantEvent
	closed bool
}

// ErrLaneClosed is what Next returns when there will be no more events.
var ErrLaneClosed = errors.New("the grant lane is closed")

// Next waits for an event. It returns [ErrLaneClosed] once the context given to Grants
// has ended, or ctx's error if that ends first.
func (l *Lane) Next(ctx context.Context) (GrantEvent, error) {
	for {
		if ev, ok, closed := l.take(); ok {
			l.drained.Send()
			return ev, nil
		} else if closed {
			return GrantEvent{}, ErrLaneClosed
		}
		if err := l.filled.Wait(ctx); err != nil {
			return GrantEvent{}, fmt.Errorf("wait for a grant: %w", err)
		}
	}
}

func (l *Lane) take() (ev GrantEvent, ok, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 {
		return GrantEvent{}, false, l.closed
	}
	ev = l.events[0]
	l.events = slices.Delete(l.events, 0, 1)
	return ev, true, false
}

// send waits until there is room for ev. It reports false if ctx ends before.
func (l *Lane) send(ctx context.Context, ev GrantEvent) bool {
	for !l.offer(ev) {
		if l.drained.Wait(ctx) != nil {
			return false
		}
	}
	l.filled.Send()
	return true
}

func (l *Lane) offer(ev GrantEvent) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) >= laneBuffer {
		return false
	}
	l.events = append(l.events, ev)
	return true
}

func (l *Lane) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.filled.Send()
}

// Grants polls the grants directory until ctx ends. A new or changed *.jwt file is
// GrantAdded, a removed one GrantRemoved. Each call begins anew. The lane is nil if
// there is no directory.
func (h *Home) Grants(ctx context.Context) (*Lane, error) {
	if h.cfg.GrantsDir == "" {
		return nil, nil
	}
	if err := h.cfg.Files.MkdirAll(ctx, h.cfg.GrantsDir); err != nil {
		return nil, fmt.Errorf("make the grants directory %s: %w", h.cfg.GrantsDir, err)
	}
	s := &scanner{h: h, lane: &Lane{filled: h.clock.NewSignal(), drained: h.clock.NewSignal()}, files: map[string]grantInFile{}}
	h.clock.NewGroup(ctx).Go("poll grants", s.run)
	return s.lane, nil
}

// scanner is one reader of the directory.
type scanner struct {
	h     *Home
	lane  *Lane
	files map[string]grantInFile // by name
}

// grantInFile is what is remembered of a file.
type grantInFile struct {
	hash [sha256.Size]byte
	uid  string // empty: it is no grant
}

func (s *scanner) run(ctx context.Context) {
	defer s.lane.close()
	for s.scan(ctx) {
		if s.h.clock.Sleep(ctx, s.h.cfg.GrantsPoll) != nil {
			return
		}
	}
}

// scan reads the directory once and says what has changed. It reports false when ctx
// has ended.
func (s *scanner) scan(ctx context.Context) bool {
	names, err := s.h.cfg.Files.List(ctx, s.h.cfg.GrantsDir)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		// Nothing is gone because nobody can see it.
		s.h.log.Info("Cannot read the grants directory", "error", err.Error())
		return true
	}
	present := map[string]bool{}
	for _, name := range names {
		if !strings.HasSuffix(name, grantSuffix) {
			continue
		}
		content, err := s.h.readGrant(ctx, name)
		switch {
		case ctx.Err() != nil:
			return false
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			s.h.log.Info("Cannot read a grant file", "file", name, "error", err.Error())
			present[name] = true // as it was, or unknown until it can be read
			continue
		}
		present[name] = true
		if !s.added(ctx, name, content) {
			return false
		}
	}
	return s.removed(ctx, present)
}

// added says so if a file has content that is new.
func (s *scanner) added(ctx context.Context, name string, content []byte) bool {
	now := grantInFile{hash: sha256.Sum256(content)}
	if before, ok := s.files[name]; ok && before.hash == now.hash {
		return true
	}
	if p, err := grant.Peek(content); err == nil {
		now.uid = p.UID
	}
	s.files[name] = now
	return s.lane.send(ctx, GrantEvent{Kind: GrantAdded, Token: secret.New(content)})
}

// removed says which grants are in no file any more. A file may have got another name,
// or another file may vouch for the same grant.
func (s *scanner) removed(ctx context.Context, present map[string]bool) bool {
	var gone []string
	for name, f := range s.files {
		if !present[name] {
			delete(s.files, name)
			gone = append(gone, f.uid)
		}
	}
	if len(gone) == 0 {
		return true // as nearly always
	}
	slices.Sort(gone)
	vouched := map[string]bool{"": true}
	for _, f := range s.files {
		vouched[f.uid] = true
	}
	for _, uid := range slices.Compact(gone) {
		if !vouched[uid] && !s.lane.send(ctx, GrantEvent{Kind: GrantRemoved, UID: uid}) {
			return false
		}
	}
	return true
}
