package encryption

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// Reasons of the events that tell how a configuration differs from the one before.
const (
	EventResourceAdded             = "EncryptionResourceAdded"
	EventResourceRemoved           = "EncryptionResourceRemoved"
	EventKeyPromoted               = "EncryptionKeyPromoted"
	EventKeyRemoved                = "EncryptionKeyRemoved"
	EventWriteKeyTriggeredExternal = "EncryptionWriteKeyTriggeredExternal"
	EventWriteKeyTriggeredInternal = "EncryptionWriteKeyTriggeredInternal"
	EventWriteKeyChanged           = "EncryptionWriteKeyChanged"
	EventReadKeysChanged           = "EncryptionReadKeysChanged"
)

// tell records how to differs from from.
func (c *Component) tell(from, to state.State) {
	for i := range from {
		if to.Find(from[i].GroupResource) == nil {
			c.Recorder.Event(EventResourceRemoved, fmt.Sprintf("Resource %s is no longer encrypted", from[i].GroupResource))
		}
	}
	for i := range to {
		next := &to[i]
		before := from.Find(next.GroupResource)
		if before == nil {
			c.Recorder.Event(EventResourceAdded, fmt.Sprintf("Resource %s is to be encrypted", next.GroupResource))
			before = &state.Resource{}
		}
		c.tellWriteKey(before, next)
		c.tellReadKeys(before, next)
	}
}

func (c *Component) tellWriteKey(before, next *state.Resource) {
	switch {
	case !next.HasWriteKey():
		return
	case !before.HasWriteKey():
		c.Recorder.Event(EventKeyPromoted, fmt.Sprintf("Key %d writes %s", next.Write.ID, next.GroupResource))
	case before.Write.Equal(*next.Write):
		return
	default:
		c.Recorder.Event(EventWriteKeyChanged, fmt.Sprintf("Key %d writes %s in place of key %d", next.Write.ID, next.GroupResource, before.Write.ID))
	}
	if next.Write.ExternalReason != "" && (!before.HasWriteKey() || before.Write.ExternalReason != next.Write.ExternalReason) {
		c.Recorder.Event(EventWriteKeyTriggeredExternal, fmt.Sprintf("Key %d was asked for: %s", next.Write.ID, next.Write.ExternalReason))
		return
	}
	c.Recorder.Event(EventWriteKeyTriggeredInternal, fmt.Sprintf("Key %d was needed: %s", next.Write.ID, next.Write.InternalReason))
}

func (c *Component) tellReadKeys(before, next *state.Resource) {
	added, removed := missing(next.Read, before.Read), missing(before.Read, next.Read)
	for _, k := range removed {
		c.Recorder.Event(EventKeyRemoved, fmt.Sprintf("Key %d no longer reads %s", k.ID, next.GroupResource))
	}
	if len(added) > 0 || len(removed) > 0 {
		ids := make([]uint64, len(next.Read))
		for i := range next.Read {
			ids[i] = next.Read[i].ID
		}
		c.Recorder.Event(EventReadKeysChanged, fmt.Sprintf("Keys %d read %s", ids, next.GroupResource))
	}
}

// missing returns those of keys that are not in others.
func missing(keys, others []state.Key) []state.Key {
	var out []state.Key
	for _, k := range keys {
		if !contains(others, k) {
			out = append(out, k)
		}
	}
	return out
}
