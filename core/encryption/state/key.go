package state

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/secret"
)

// Mode is how a key encrypts.
type Mode string

// Modes. KMS is written in capitals, as in a policy.
const (
	Identity  Mode = "identity" // not at all
	AESCBC    Mode = "aescbc"
	AESGCM    Mode = "aesgcm"
	Secretbox Mode = "secretbox" // is read, but cannot be chosen
	KMS       Mode = "KMS"
)

// Known reports whether there is such a mode.
func (m Mode) Known() bool {
	switch m {
	case Identity, AESCBC, AESGCM, Secretbox, KMS:
		return true
	default:
		return false
	}
}

// Sizes of the material of keys, in bytes.
const (
	MaterialSize = 32 // of keys that encrypt by it

	// NoMaterialSize is that of keys that do not: all zero, but a legal AES key.
	NoMaterialSize = 16
)

// NoMaterial is the material of keys of the modes identity and KMS.
func NoMaterial() secret.Bytes { return secret.New(make([]byte, NoMaterialSize)) }

// Key is an encryption key, and how far the cluster has come with it. Keys are
// values; what they point to does not change.
type Key struct {
	// ID orders keys by age. It is never used again.
	ID uint64

	Mode     Mode
	Material secret.Bytes

	// Backed says that a key Secret that can be read has it. A key that only the
	// deployed configuration has is not backed.
	Backed bool

	Migrated Migrated

	// Decrypted are resources all of whose objects have been written as they are
	// while this was the newest key: those that should be encrypted no longer.
	Decrypted []schema.GroupResource

	// InternalReason says, for people, why the key was made.
	InternalReason string

	// ExternalReason is what was asked for from outside when the key was made.
	ExternalReason string

	// KMS is what the plugin of a key of that mode needs; nil for other modes, and
	// where it is not known.
	KMS *KMSData

	// KEK is how far the objects have come with the key that the plugin keeps.
	KEK KEK

	// GivenUp says that nobody waits for its plugin any more, which is dead: nothing is
	// to be written with the key.
	GivenUp bool
}

// KEK is a key that a KMS plugin keeps, by the ids that it gives to it. Whoever keeps
// it rotates it; then the plugin gives another id, and objects are rewritten under
// the same key of ours. Empty ids are not known.
type KEK struct {
	// Converged is the id that all API servers were last seen to have, and Since when
	// that was first seen.
	Converged string
	Since     time.Time

	// Target is the id that objects are to be written with, Migrated the one that
	// all are known to be written with.
	Target, Migrated string
}

// Pending reports whether objects are yet to be rewritten.
func (k KEK) Pending() bool { return k.Target != "" && k.Target != k.Migrated }

// Equal reports whether k and o are the same key. What has become of it since
// does not matter.
func (k Key) Equal(o Key) bool {
	return k.Mode == o.Mode && k.ID == o.ID && k.Material.Equal(o.Material)
}

// Exists reports whether k is a key at all.
func (k Key) Exists() bool { return k.Mode != "" && k.Material.Len() > 0 }

// Migrated says of which resources all objects have been written with a key.
type Migrated struct {
	// Time of the last that came to be; zero if unknown.
	Time      time.Time
	Resources []schema.GroupResource
}

// Has reports whether gr has been migrated.
func (m Migrated) Has(gr schema.GroupResource) bool { return slices.Contains(m.Resources, gr) }

// HasAll reports whether all of them have been migrated.
func (m Migrated) HasAll(grs []schema.GroupResource) bool {
	return !slices.ContainsFunc(grs, func(gr schema.GroupResource) bool { return !m.Has(gr) })
}

// KMSData is what a KMS key needs beside its name.
type KMSData struct {
	// Version counts the changes in place; it only grows.
	Version int64

	// Provider is the KMS provider, as JSON: an EncryptionConfiguration with that
	// provider alone.
	Provider string

	// Plugin is the plugin's configuration, as JSON.
	Plugin string

	// Secrets and ConfigMaps are the data that the plugin's configuration refers
	// to.
	Secrets    map[Reference]secret.Bytes
	ConfigMaps map[Reference]string
}

// Reference names an entry of the data of a Secret or ConfigMap.
type Reference struct{ Object, Entry string }

// String returns object_entry, as references are written in names of data. Names
// of objects have no underscores.
func (r Reference) String() string { return r.Object + "_" + r.Entry }

// References returns the references of m, in order.
func References[V any](m map[Reference]V) []Reference {
	return slices.SortedFunc(maps.Keys(m), func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Entry, b.Entry))
	})
}

// Equal reports whether a plugin would find the same in both, of whatever version.
func (d *KMSData) Equal(o *KMSData) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.Provider == o.Provider && d.Plugin == o.Plugin &&
		maps.EqualFunc(d.Secrets, o.Secrets, secret.Bytes.Equal) && maps.Equal(d.ConfigMaps, o.ConfigMaps)
}

// ParseID returns the id in the name of a key or a Secret: the digits after the
// last dash, or all of it.
func ParseID(name string) (uint64, bool) {
	id, err := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	return id, err == nil
}

// NewestFirst returns the keys in the order of their ids, the highest first.
func NewestFirst(keys []Key) []Key {
	sorted := slices.Clone(keys)
	slices.SortStableFunc(sorted, func(a, b Key) int { return cmp.Compare(b.ID, a.ID) })
	return sorted
}

func contains(keys []Key, k Key) bool { return slices.ContainsFunc(keys, k.Equal) }
