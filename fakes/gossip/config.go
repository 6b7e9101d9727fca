package gossip

import "time"

// Config fixes one instance. The fields have the names, meanings and defaults
// of memberlist.Config; those that have no effect on membership (metadata,
// delegates, compression, DNS) do not exist here.
type Config struct {
	// Name identifies the node and must not be empty. A restarted node keeps it.
	Name string
	// Addr is the endpoint to listen on; empty means an endpoint called Name.
	Addr string

	// Label is a clear-text prefix of all traffic, compared before anything is
	// decrypted. At most 255 bytes.
	Label string
	// SkipInboundLabelCheck accepts traffic without a label, and only that.
	SkipInboundLabelCheck bool

	// Keyring is read at every message. Nil or empty means no encryption.
	Keyring Keyring
	// GossipVerifyIncoming refuses plaintext while the ring is not empty.
	GossipVerifyIncoming bool
	// GossipVerifyOutgoing encrypts while the ring is not empty.
	GossipVerifyOutgoing bool

	// ProbeInterval is the time between two probe rounds, and the time a round
	// may take, times (health score + 1).
	ProbeInterval time.Duration
	// ProbeTimeout is how long a direct ping may take before others are asked.
	ProbeTimeout time.Duration
	// IndirectChecks is how many others are asked.
	IndirectChecks int
	// DisableTCPPings turns off the ping over a stream.
	DisableTCPPings bool
	// AwarenessMaxMultiplier bounds the health score to [0, max).
	AwarenessMaxMultiplier int

	// SuspicionMult and SuspicionMaxTimeoutMult scale the suspicion timeout:
	// see suspicionTimeout.
	SuspicionMult           int
	SuspicionMaxTimeoutMult int

	// RetransmitMult scales how often a broadcast is repeated.
	RetransmitMult int
	// GossipInterval, GossipNodes: how often, and to how many.
	GossipInterval time.Duration
	GossipNodes    int
	// GossipToTheDeadTime is how long the dead are still talked to, and how long
	// they are remembered.
	GossipToTheDeadTime time.Duration

	// PushPullInterval is the time between two exchanges of full state.
	PushPullInterval time.Duration
	// TCPTimeout bounds the dial and each direction of a stream.
	TCPTimeout time.Duration

	// DeadNodeReclaimTime is how long after its death a name may come back under
	// another address; zero means never (until it is forgotten).
	DeadNodeReclaimTime time.Duration

	// UDPBufferSize is the packet budget in bytes; it limits piggybacking.
	UDPBufferSize int

	// OnEvent, if set, sees the events of this instance right after Env.Emit
	// did. Like memberlist's EventDelegate it runs in the middle of a state
	// change: it must not call the node back, only remember.
	OnEvent func(Event)
}

// LANConfig is memberlist.DefaultLANConfig.
func LANConfig(name string) Config {
	return Config{
		Name:                    name,
		GossipVerifyIncoming:    true,
		GossipVerifyOutgoing:    true,
		ProbeInterval:           time.Second,
		ProbeTimeout:            500 * time.Millisecond,
		IndirectChecks:          3,
		AwarenessMaxMultiplier:  8,
		SuspicionMult:           4,
		SuspicionMaxTimeoutMult: 6,
		RetransmitMult:          4,
		GossipInterval:          200 * time.Millisecond,
		GossipNodes:             3,
		GossipToTheDeadTime:     30 * time.Second,
		PushPullInterval:        30 * time.Second,
		TCPTimeout:              10 * time.Second,
		UDPBufferSize:           1400,
	}
}

// LocalConfig is memberlist.DefaultLocalConfig.
func LocalConfig(name string) Config {
	cfg := LANConfig(name)
	cfg.ProbeTimeout = 200 * time.Millisecond
	cfg.IndirectChecks = 1
	cfg.SuspicionMult = 3
	cfg.RetransmitMult = 2
	cfg.GossipInterval = 100 * time.Millisecond
	cfg.GossipToTheDeadTime = 15 * time.Second
	cfg.PushPullInterval = 15 * time.Second
	cfg.TCPTimeout = time.Second
	return cfg
}

// AgentConfig is what the node agent runs with: LocalConfig, and a dead name may
// come back under another address almost at once.
func AgentConfig(name string) Config {
	cfg := LocalConfig(name)
	cfg.DeadNodeReclaimTime = 10 * time.Millisecond
	return cfg
}
