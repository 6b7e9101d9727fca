package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

// Thread is one thread of a process.
type Thread struct{ PID, TID int }

// pending is what a thread has handed to TLS code that is hooked, and what the kernel has
// not seen leave yet.
type pending struct {
	cgroup policy.Cgroup
	length int
	hits   []placeholder.Hit
}

// pendingMax is how many threads may have something pending.
const pendingMax = 4096

// Enter is a thread's call of the write function of TLS code in a file. If the code is
// hooked, placeholders in the text are found; the text itself stays as it is. What the
// thread had pending before is forgotten.
func (k *Kernel) Enter(t Thread, code File, text []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[t.PID]
	if p == nil || !k.hooked[code] || !k.tracked[p.cgroup] {
		return
	}
	delete(k.pending, t)
	hits := placeholder.Find(text, func(key placeholder.Key) *placeholder.Form { return k.forms[key].form })
	switch {
	case len(hits) == 0:
	case len(k.pending) >= pendingMax:
		k.count("pending_full")
	default:
		k.pending[t] = pending{p.cgroup, len(text), hits}
	}
}

// Return is the return from that function.
func (k *Kernel) Return(t Thread) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pending, t)
}

// ExitThread ends a thread, wherever it is.
func (k *Kernel) ExitThread(t Thread) { k.Return(t) }

// Seal makes the records of a text, as the TLS code of a connection does.
func (s *Socket) Seal(text []byte) []byte {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	return s.session.seal(text)
}

// Send lets a thread send bytes over a socket, and returns how many the stream has then.
// Seen is what the kernel reads of the buffer as the call begins, sent what it takes: other
// threads may write to the buffer meanwhile. If the thread has something pending, and there
// is a record of its length in the buffer, what is to change is decided here and now.
func (s *Socket) Send(t Thread, seen, sent []byte) (int, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	if s.k.processes[t.PID] == nil {
		return 0, fmt.Errorf("process %d: %w", t.PID, plane.ErrNoProcess)
	}
	at := s.start + patch.Seq(len(s.sent))
	s.sent = append(s.sent, sent...)
	// Nothing is prepared before the program that would apply it is attached: it could come
	// to be in the middle of the record.
	if p, ok := s.k.pending[t]; ok && len(s.k.attached[s.netns]) > 0 {
		s.k.prepare(s, p, seen, at)
	}
	return len(s.sent), nil
}

// Write is all of it, one after the other: a thread writes a text through TLS code in a
// file.
func (s *Socket) Write(pid int, code File, text []byte) (int, error) {
	t := Thread{PID: pid, TID: pid}
	s.k.Enter(t, code, text)
	defer s.k.Return(t)
	buf := s.Seal(text)
	return s.Send(t, buf, buf)
}

// prepare computes what of a write is to change on its way.
func (k *Kernel) prepare(s *Socket, p pending, buf []byte, at patch.Seq) {
	changes := k.changes(s, p)
	if len(changes) == 0 {
		return
	}
	if s.suite != AESGCM {
		k.count("cipher")
		return
	}
	parts, err := patch.Locate(buf, p.length, 0, patch.TLS13)
	if err != nil {
		k.count("hdr_mismatch")
		return
	}
	for _, part := range parts {
		e, err := patch.NewEntry(s.session.key, buf, at, part, changes)
		if err == nil {
			err = s.ring.Add(e)
		}
		if err != nil {
			k.count("ring_full")
		}
	}
}

// formOf is a form, and the key of the entry that it is of.
type formOf struct {
	form *placeholder.Form
	key  placeholder.Key
}

// index finds the forms of all entries anew, after they have changed.
func (k *Kernel) index() {
	k.forms, k.rules = map[placeholder.Key]formOf{}, map[placeholder.Key]policy.Rule{}
	k.generation++
	for _, key := range slices.SortedFunc(maps.Keys(k.entries), placeholder.Key.Compare) {
		e := k.entries[key]
		k.rules[key] = e.Rule
		list := placeholder.Forms(e.Placeholder, e.Value.Reveal())
		for i := range list {
			k.forms[list[i].Key] = formOf{&list[i], key}
		}
	}
}

// changes decides which of the placeholders that were found may leave as values.
func (k *Kernel) changes(s *Socket, p pending) (changes []patch.Change) {
	tables := policy.Tables{Rules: k.rules, Grants: k.grants}
	seen := policy.Socket{Outgoing: s.outgoing, TCP: true, Host: k.hostOf(s), Destination: s.destination}
	for _, hit := range p.hits {
		now := k.forms[hit.Form.Key]
		if now.form != hit.Form {
			continue // it has changed since the text was looked at
		}
		verdict := tables.Decide(p.cgroup, now.key, seen)
		if verdict.Why != "" {
			k.count(verdict.Why)
			k.emit(plane.Event{Violation: &plane.Violation{Cgroup: p.cgroup, Owner: k.entries[now.key].Owner, Why: verdict.Why}})
		}
		if verdict.Allow {
			changes = append(changes, patch.Change{At: hit.At, Delta: hit.Form.Delta})
		}
	}
	return changes
}

// hostOf returns the host that a socket was verified for, if it is still used.
func (k *Kernel) hostOf(s *Socket) string {
	for _, row := range k.vips {
		if row.ID() == s.host && row.Host != "" && row.State == virtualip.Used {
			return row.Host
		}
	}
	return ""
}
