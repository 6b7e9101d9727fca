package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Kinds of notes in the trace of a run; see [engine.Engine.Note].
const (
	// NoteState is a state of the object Object as it was stored: N is its revision,
	// State the object as JSON, Verb "write" or "delete", Actor who wrote it if that
	// is known. Values of Secrets are left out.
	NoteState = "state"
	// NoteCall is a request: Actor sent it at Since, and Peer answered it now.
	NoteCall = "call"
	// NoteAnswer is the arrival of an answer at Actor, which Peer gave at Since.
	NoteAnswer = "answer"
	// NoteEvent is the arrival of revision N of an object at the cache of Actor; Peer
	// sent it at Since.
	NoteEvent = "event"
	// NoteBegin says that the fault Verb is there from now on, until the NoteEnd with
	// the same N: at Actor, or, if that is empty, lying in wait for many.
	NoteBegin = "begin"
	NoteEnd   = "end"
)

// chronicle notes the states of objects as they are stored, for the trace.
type chronicle struct {
	cluster *Cluster
	upto    uint64
	secrets map[string]int // ordinals of the values of Secrets
}

// startChronicle begins to note states, if the trace keeps notes.
func (c *Cluster) startChronicle() {
	if !c.notes {
		return
	}
	c.chronicle = &chronicle{cluster: c, secrets: map[string]int{}}
	c.eng.OnTouched(func() error { c.chronicle.follow(""); return nil })
}

// follow notes what was stored since the last call.
func (h *chronicle) follow(actor string) {
	if h == nil {
		return
	}
	writes, err := h.cluster.store.Since(h.upto)
	h.upto = h.cluster.store.Revision()
	if err != nil { // forgotten by a scenario that compacts: the next states are noted again
		return
	}
	for _, w := range writes {
		verb := "write"
		if w.Deleted {
			verb = "delete"
		}
		h.cluster.eng.Note(engine.Record{
			Kind: NoteState, Actor: actor, Verb: verb, N: w.Revision, State: h.text(w),
			Object: h.cluster.keys.object(w.Resource.Resource, w.Namespace, w.Name),
		})
	}
}

// text is an object as JSON, without what only machines read and without values of
// Secrets.
func (h *chronicle) text(w apiserver.Written) string {
	raw, err := json.Marshal(w.Object)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		return fmt.Sprintf(`{"unreadable":%q}`, err)
	}
	if meta, ok := fields["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		if w.Resource.Resource == "secrets" {
			h.conceal(fields, meta)
		}
	}
	raw, _ = json.Marshal(fields) // it was JSON a moment ago
	return string(raw)
}

// conceal puts words for the values of a Secret. Equal words stand for equal values
// of one run, and tell nothing else.
func (h *chronicle) conceal(secret, meta map[string]any) {
	if annotations, ok := meta["annotations"].(map[string]any); ok && annotations[corev1.LastAppliedConfigAnnotation] != nil {
		annotations[corev1.LastAppliedConfigAnnotation] = "(left out)"
	}
	data, _ := secret["data"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value, _ := data[key].(string)
		if h.secrets[value] == 0 {
			h.secrets[value] = len(h.secrets) + 1
		}
		raw, _ := base64.StdEncoding.DecodeString(value) // a length of zero says that it is none
		data[key] = fmt.Sprintf("(%d bytes, value %d of this run)", len(raw), h.secrets[value])
	}
}
