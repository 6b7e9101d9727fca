package gossip

// MsgKind is the type of a message.
type MsgKind uint8

// The messages of the protocol. The first four answer at once; the next three
// go through the state rules; the rest only travel on streams.
const (
	MsgPing MsgKind = iota
	MsgIndirectPing
	MsgAck
	MsgNack
	MsgSuspect
	MsgAlive
	MsgDead
	MsgPushPull
	MsgError
)

// Msg is one message: small, by value, without pointers. Which fields count
// depends on the kind:
//
//	Ping          Seq, Node (whom it is for), From and Reply (who asks)
//	IndirectPing  Seq, Node and Addr (whom to ping), From and Reply
//	Ack, Nack     Seq
//	Suspect, Dead Node, Inc, From (the accuser; From == Node says "left")
//	Alive         Node, Inc, Addr
//	Error         Fault
type Msg struct {
	Kind  MsgKind
	Fault Fault
	Node  NodeID
	From  NodeID
	Addr  Addr
	Reply Addr
	Inc   uint32
	Seq   uint32
}

// Entry is what a push/pull says about one node.
type Entry struct {
	Node  NodeID
	Addr  Addr
	Inc   uint32
	State State
}

// Step is a moment in the life of a stream. Packets have StepNone.
type Step uint8

// A stream is dialled (Dial, answered by Accept or Refuse), carries one Request
// and one Response, or is closed without one.
const (
	StepNone Step = iota
	StepDial
	StepAccept
	StepRefuse
	StepRequest
	StepResponse
	StepClose
)

// KeyID stands for a key without holding it. Plain is no key.
type KeyID int32

// Plain marks an envelope that is not encrypted.
const Plain KeyID = 0

// Envelope is one packet, or one leg of a stream, on the wire. It is immutable
// once sent: the network may deliver it twice, an attacker may keep it and
// [Cluster.Deliver] it again.
//
// An encrypted envelope is not garbled; the receiver decides by Key whether it
// can read Head, Rest and States. Code that plays an attacker without keys must
// look at no more than the outer fields (those above Head).
type Envelope struct {
	From, To Addr
	Stream   bool
	Step     Step
	Label    string // the clear prefix
	Key      KeyID  // what it is encrypted with
	Sealed   string // the label bound into the ciphertext
	Conn     uint32 // the dialler's number for the stream
	Epoch    uint32 // the instance at the accepting end

	Head   Msg
	Rest   []Msg   // piggybacked on Head
	States []Entry // of a push/pull
}

// Forge makes the packet that somebody at from would send to one endpoint. A
// nil key gives plaintext; the key need not be in anybody's ring.
func (c *Cluster) Forge(from, to string, label string, key []byte, m Msg) *Envelope {
	e := c.envelope()
	e.From, e.To = c.Addr(from), c.Addr(to)
	e.Label, e.Head = label, m
	if key != nil {
		e.Key, e.Sealed = c.keys.id(key), label
	}
	return e
}

// Sizes of messages as msgpack encodes them, needed for the packet budget. Each
// is a type byte, a map header and the fields by name; addresses are IPv4 and
// ports above 255.
const (
	sizeMsgHeader  = 2
	sizeIPv4       = 5
	sizePort       = 3
	sizeCompound   = 2  // header of a compound message
	sizePerMessage = 2  // its length field
	sizeSealing    = 29 // version, nonce, tag
)

func sizeUint(v uint32) int {
	switch {
	case v < 1<<7:
		return 1
	case v < 1<<8:
		return 2
	case v < 1<<16:
		return 3
	}
	return 5
}

func sizeString(n int) int {
	if n < 32 {
		return 1 + n
	}
	return 3 + n
}

// field is the size of a field's name.
func field(name string) int { return sizeString(len(name)) }

var (
	sizeAccusation = sizeMsgHeader + field("Incarnation") + field("Node") + field("From")
	sizeAlive      = sizeMsgHeader + field("Incarnation") + field("Node") + field("Addr") + sizeIPv4 +
		field("Port") + sizePort + field("Meta") + 1 + field("Vsn") + 7
	sizeSource = field("SourceAddr") + sizeIPv4 + field("SourcePort") + sizePort + field("SourceNode")
	sizePing   = sizeMsgHeader + field("SeqNo") + field("Node") + sizeSource
	sizeAsk    = sizePing + field("Target") + sizeIPv4 + field("Port") + sizePort + field("Nack") + 1
	sizeAck    = sizeMsgHeader + field("SeqNo") + field("Payload") + 1
	sizeNack   = sizeMsgHeader + field("SeqNo")
)

// Size is the encoded length of m in bytes.
func (c *Cluster) Size(m *Msg) int {
	name := func(id NodeID) int { return sizeString(len(c.Name(id))) }
	switch m.Kind {
	case MsgPing:
		return sizePing + sizeUint(m.Seq) + name(m.Node) + name(m.From)
	case MsgIndirectPing:
		return sizeAsk + sizeUint(m.Seq) + name(m.Node) + name(m.From)
	case MsgAck:
		return sizeAck + sizeUint(m.Seq)
	case MsgNack:
		return sizeNack + sizeUint(m.Seq)
	case MsgAlive:
		return sizeAlive + sizeUint(m.Inc) + name(m.Node)
	default:
		return sizeAccusation + sizeUint(m.Inc) + name(m.Node) + name(m.From)
	}
}
