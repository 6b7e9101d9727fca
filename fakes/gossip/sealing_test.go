package gossip

import (
	"errors"
	"testing"
	"time"
)

// stance is a keyring with its verify flags, in one word for tables.
type stance struct {
	ring          *Ring
	verify, speak bool
}

func (s stance) config(name string) Config {
	cfg := calm(name)
	if s.ring != nil {
		cfg.Keyring = s.ring
	}
	cfg.GossipVerifyIncoming, cfg.GossipVerifyOutgoing = s.verify, s.speak
	return cfg
}

// TestPacketTable sends a ping per cell of the packet table and looks for the
// ack, which the receiver sends only after processing it.
func TestPacketTable(t *testing.T) {
	receivers := []struct {
		name string
		stance
	}{
		{"no ring", stance{nil, true, true}},
		{"empty ring", stance{&Ring{}, true, true}},
		{"ring, verify incoming", stance{ringOf(1, 2), true, true}},
		{"ring, not verifying", stance{ringOf(1, 2), false, true}},
	}
	packets := []struct {
		name string
		key  []byte
	}{
		{"plaintext", nil}, {"primary", testKey(1)}, {"secondary", testKey(2)}, {"foreign", testKey(3)},
	}
	const ok = ""
	want := [4][4]string{
		{ok, RefusedGarbage, RefusedGarbage, RefusedGarbage},
		{ok, RefusedGarbage, RefusedGarbage, RefusedGarbage},
		{RefusedPlain, ok, ok, RefusedPacket},
		{ok, ok, ok, RefusedGarbage},
	}
	for i, r := range receivers {
		for j, p := range packets {
			t.Run(r.name+"/"+p.name, func(t *testing.T) {
				w := newWorld(t)
				w.start(r.config("a"))
				w.Events = nil
				acks := 0
				w.Tap = func(e *Envelope) {
					if e.Head.Kind == MsgAck {
						acks++
					}
				}
				w.Cluster.Deliver(w.Cluster.Forge("x", "a", "", p.key, Msg{
					Kind: MsgPing, Node: w.id("a"), Reply: w.Cluster.Addr("x"), Seq: 7,
				}))
				got := ok
				for _, ev := range w.Events {
					got = ev.Reason
				}
				if got != want[i][j] || (acks == 1) != (want[i][j] == ok) {
					t.Errorf("%d acks, refused %q, want %q", acks, got, want[i][j])
				}
			})
		}
	}
}

// TestStreamTable does the same with a join, which crosses the table twice. The
// dialler has key 1 and accepts anything readable.
func TestStreamTable(t *testing.T) {
	receivers := []struct {
		name string
		stance
	}{
		{"no ring", stance{nil, true, true}},
		{"ring, verify incoming", stance{ringOf(1), true, true}},
		{"ring, not verifying", stance{ringOf(1), false, true}},
	}
	diallers := []struct {
		name string
		stance
	}{
		{"plaintext", stance{ringOf(1), false, false}},
		{"key known", stance{ringOf(1), false, true}},
		{"key unknown", stance{ringOf(9, 1), false, true}},
	}
	want := [3][3]error{
		{nil, ErrNotConfigured, ErrNotConfigured},
		{ErrStreamPlain, nil, ErrStreamKey},
		{nil, nil, ErrStreamKey},
	}
	for i, r := range receivers {
		for j, d := range diallers {
			t.Run(r.name+"/"+d.name, func(t *testing.T) {
				w := newWorld(t)
				w.start(r.config("b"))
				a := w.start(d.config("a"))
				var got error
				answered := false
				a.Join([]string{"b"}, func(_ int, err error) { got, answered = err, true })
				w.Run(time.Second)
				if !answered {
					t.Fatal("the join did not end")
				}
				if !errors.Is(got, want[i][j]) {
					t.Errorf("join: %v, want %v", got, want[i][j])
				}
				var remote *RemoteError
				if got != nil && !errors.As(got, &remote) {
					t.Errorf("join: %v is not reported by the other side", got)
				}
				if listed := w.nodes["b"].Lists(a.ID()); listed != (want[i][j] == nil) {
					t.Errorf("the responder lists the dialler: %v", listed)
				}
			})
		}
	}
}

// TestUnreadableAnswer: the responder reads the request but answers with a key
// that the dialler does not have. It has merged; the dialler has not.
func TestUnreadableAnswer(t *testing.T) {
	w := newWorld(t)
	b := w.start(stance{ringOf(2, 1), true, true}.config("b"))
	a := w.start(stance{ringOf(1), true, true}.config("a"))
	var got error
	a.Join([]string{"b"}, func(_ int, err error) { got = err })
	w.Run(time.Second)
	var remote *RemoteError
	if !errors.Is(got, ErrStreamKey) || errors.As(got, &remote) {
		t.Errorf("join: %v, want an own decrypt error", got)
	}
	if !b.Lists(a.ID()) || a.Lists(b.ID()) {
		t.Errorf("views are %s, want a:a b:ab", w.views())
	}
}

// TestUnreadableError: even the error message is encoded with the responder's
// own settings.
func TestUnreadableError(t *testing.T) {
	w := newWorld(t)
	w.start(stance{ringOf(2), true, true}.config("b"))
	a := w.start(stance{ringOf(1), true, true}.config("a"))
	var got error
	a.Join([]string{"b"}, func(_ int, err error) { got = err })
	w.Run(time.Second)
	var remote *RemoteError
	if !errors.Is(got, ErrStreamKey) || errors.As(got, &remote) {
		t.Errorf("join: %v, want an own decrypt error", got)
	}
}

func TestEncryptionIsDecidedAtSendTime(t *testing.T) {
	w := newWorld(t)
	ring := &Ring{}
	a := w.start(stance{ring, false, true}.config("a"))
	var last *Envelope
	w.Tap = func(e *Envelope) { last = e }
	send := func() string {
		_ = a.packet(w.Cluster.Addr("x"), Msg{Kind: MsgAck})
		return w.Cluster.KeyFingerprint(last.Key)
	}
	if got := send(); got != "plain" {
		t.Errorf("with an empty ring: %s", got)
	}
	for _, b := range []byte{1, 2} {
		if err := errors.Join(ring.AddKey(testKey(b)), ring.UseKey(testKey(b))); err != nil {
			t.Fatal(err)
		}
		if got := send(); got != Fingerprint(testKey(b)) {
			t.Errorf("with primary %d: %s", b, got)
		}
	}
	a.cfg.GossipVerifyOutgoing = false
	if got := send(); got != "plain" {
		t.Errorf("with outgoing off: %s", got)
	}
}

func TestLabels(t *testing.T) {
	for _, tc := range []struct {
		name               string
		mine               string
		skip               bool
		wire, sealed       string
		key                []byte
		processed, refused bool
	}{
		{name: "none", processed: true},
		{name: "same", mine: "L", wire: "L", processed: true},
		{name: "other", mine: "L", wire: "M"},
		{name: "missing", mine: "L"},
		{name: "unexpected", wire: "M"},
		{name: "skip accepts without", mine: "L", skip: true, processed: true},
		{name: "skip refuses two labels", mine: "L", skip: true, wire: "L"},
		{name: "bound into the ciphertext", mine: "L", wire: "L", sealed: "L", key: testKey(1), processed: true},
		{name: "relabelled by an attacker", mine: "L", wire: "L", sealed: "M", key: testKey(1), refused: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			cfg := calm("a")
			cfg.Label, cfg.SkipInboundLabelCheck = tc.mine, tc.skip
			if tc.key != nil {
				cfg.Keyring = ringOf(1)
			}
			w.start(cfg)
			w.Events = nil
			answered := false
			w.Tap = func(e *Envelope) { answered = true }
			e := w.Cluster.Forge("x", "a", tc.wire, tc.key, Msg{Kind: MsgPing, Node: w.id("a"), Reply: w.Cluster.Addr("x")})
			e.Sealed = tc.sealed
			w.Cluster.Deliver(e)
			if answered != tc.processed || (len(w.Events) > 0) != tc.refused {
				t.Errorf("answered %v, events %v", answered, w.story())
			}
		})
	}
}

func TestStreamWithAnotherLabelIsClosed(t *testing.T) {
	w := newWorld(t)
	cfg := calm("b")
	cfg.Label = "other"
	w.start(cfg)
	var got error
	w.start(calm("a")).Join([]string{"b"}, func(_ int, err error) { got = err })
	w.Run(time.Second)
	if !errors.Is(got, ErrClosed) {
		t.Errorf("join: %v, want EOF", got)
	}
}

// TestTalks holds the predicate against the whole matrix of rings and flags.
func TestTalks(t *testing.T) {
	rings := []*Ring{nil, ringOf(1), ringOf(2), ringOf(1, 2), ringOf(2, 1)}
	flags := []bool{false, true}
	for _, ra := range rings {
		for _, rb := range rings {
			for _, speak := range flags {
				for _, verify := range flags {
					w := newWorld(t)
					a, b := w.start(stance{ra, true, speak}.config("a")), w.start(stance{rb, verify, true}.config("b"))
					want := rb == nil || !verify // for plaintext
					if ra != nil && speak {
						want = rb != nil && rb.index(ra.GetPrimaryKey()) >= 0
					}
					if got := Talks(a, b); got != want {
						t.Errorf("%v speak=%v to %v verify=%v: %v, want %v", ra, speak, rb, verify, got, want)
					}
				}
			}
		}
	}
}
