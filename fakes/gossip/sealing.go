package gossip

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// keyTable numbers the key values seen in a run, so that envelopes carry small
// integers and no key material. The cluster holds it by pointer, so that
// printing a cluster prints no key.
type keyTable struct {
	raw [][]byte // by KeyID; entry 0 is Plain
	ids map[string]KeyID
}

func newKeyTable() *keyTable {
	return &keyTable{raw: make([][]byte, 1, 4), ids: make(map[string]KeyID, 4)}
}

// id numbers key, always with the same number for the same bytes.
func (t *keyTable) id(key []byte) KeyID {
	if id, ok := t.ids[string(key)]; ok {
		return id
	}
	id := KeyID(len(t.raw))
	t.raw = append(t.raw, bytes.Clone(key))
	t.ids[string(key)] = id
	return id
}

// Fingerprint is how a key may be spoken of: the first 8 hex digits of its
// SHA-256.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// KeyFingerprint is the Fingerprint of the key that id stands for, or "plain".
func (c *Cluster) KeyFingerprint(id KeyID) string {
	if id == Plain {
		return "plain"
	}
	return Fingerprint(c.keys.raw[id])
}

// encrypting reports whether the ring has a key: asked at each message, so that
// the first key added to an empty ring turns encryption on.
func (n *Node) encrypting() bool {
	return n.cfg.Keyring != nil && len(n.cfg.Keyring.GetKeys()) > 0
}

// seal gives e the node's label and encrypts it with the primary of this very
// moment. Broadcasts wait in the clear, so no old key lingers in the queue.
func (n *Node) seal(e *Envelope) {
	e.Label = n.cfg.Label
	if !n.cfg.GossipVerifyOutgoing || n.cfg.Keyring == nil {
		return
	}
	primary := n.cfg.Keyring.GetPrimaryKey()
	if primary == nil {
		return
	}
	if n.sealKey == Plain || !bytes.Equal(n.c.keys.raw[n.sealKey], primary) {
		n.sealKey = n.c.keys.id(primary)
	}
	e.Key, e.Sealed = n.sealKey, n.cfg.Label
}

// labelled reports whether the clear prefix of e is the one expected; nothing
// else is looked at if not.
func (n *Node) labelled(e *Envelope) bool {
	if n.cfg.SkipInboundLabelCheck {
		return e.Label == ""
	}
	return e.Label == n.cfg.Label
}

// opens reports whether one of the ring's keys decrypts e. The label is bound
// into the ciphertext, so the same key under another label does not help.
func (n *Node) opens(e *Envelope) bool {
	if e.Sealed != n.cfg.Label {
		return false
	}
	want := n.c.keys.raw[e.Key]
	for _, k := range n.cfg.Keyring.GetKeys() {
		if bytes.Equal(k, want) {
			return true
		}
	}
	return false
}

// openPacket says whether a packet's content is processed ("") or why not. The
// sender never learns which.
//
//	receiver \ packet        plaintext   key in ring   key not in ring
//	empty ring               processed   garbage       garbage
//	ring, verify incoming    dropped     processed     dropped
//	ring, not verifying      processed   processed     garbage
//
// Garbage is ciphertext read as plaintext: its first byte says "indirect ping",
// and the rest does not decode.
func (n *Node) openPacket(e *Envelope) (refused string) {
	switch {
	case !n.encrypting():
		if e.Key != Plain {
			return RefusedGarbage
		}
	case e.Key != Plain && n.opens(e):
	case n.cfg.GossipVerifyIncoming:
		if e.Key == Plain {
			return RefusedPlain
		}
		return RefusedPacket
	case e.Key != Plain:
		return RefusedGarbage
	}
	return ""
}

// openStream is the same for one leg of a stream. A reason is also what the
// reader answers, encoded with its own settings.
//
//	receiver \ stream        plaintext   key in ring   key not in ring
//	empty ring               processed   error         error
//	ring, verify incoming    error       processed     error
//	ring, not verifying      processed   processed     error
//
// There is no fall-back to plaintext here: an encrypted stream says that it is
// one in its first byte.
func (n *Node) openStream(e *Envelope) (refused string) {
	enabled := n.encrypting()
	switch {
	case e.Key == Plain:
		if enabled && n.cfg.GossipVerifyIncoming {
			return RefusedStream
		}
	case !enabled:
		return RefusedStreamBare
	case !n.opens(e):
		return RefusedStreamKey
	}
	return ""
}

// Talks reports whether what a sends can be read by b, as both are now: the
// predicate on which every safe order of a key rotation rests. It is directed.
func Talks(a, b *Node) bool {
	probe := Envelope{}
	a.seal(&probe)
	return b.labelled(&probe) && b.openPacket(&probe) == ""
}
