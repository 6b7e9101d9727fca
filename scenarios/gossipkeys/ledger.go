package gossipkeys

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
)

// ledger knows every key of a run by a name, so that scenario files, stories
// and properties speak of keys without holding any.
type ledger struct {
	keys  []gossipkeys.Key
	names []string
	index leaks.Index
}

// key returns the key that a scenario calls by this name: always the same, in
// every run.
func (l *ledger) key(name KeyName) (gossipkeys.Key, error) {
	size, err := name.size()
	if err != nil {
		return gossipkeys.Key{}, err
	}
	sum := sha256.Sum256([]byte("seedbed scenario key " + string(name)))
	key, err := gossipkeys.NewKey(sum[:size])
	if err != nil {
		return gossipkeys.Key{}, fmt.Errorf("key %s: %w", name, err)
	}
	l.learn(string(name), key)
	return key, nil
}

// list returns the keys with these names, in order, repetitions included.
func (l *ledger) list(names []KeyName) (gossipkeys.Keys, error) {
	keys := make(gossipkeys.Keys, len(names))
	for i, name := range names {
		key, err := l.key(name)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

func (l *ledger) learn(name string, key gossipkeys.Key) {
	for _, k := range l.keys {
		if k.Equal(key) {
			return
		}
	}
	l.keys, l.names = append(l.keys, key), append(l.names, name)
	l.index.Add("key "+name, key.Bytes())
}

// name is what a key is called; a key that nobody has named, because a process
// generated it, gets a name when it is first seen.
func (l *ledger) name(key gossipkeys.Key) string {
	for i, k := range l.keys {
		if k.Equal(key) {
			return l.names[i]
		}
	}
	l.learn(fmt.Sprintf("generated-%d", len(l.keys)+1), key)
	return l.names[len(l.names)-1]
}

func (l *ledger) namesOf(keys gossipkeys.Keys) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = l.name(k)
	}
	return names
}

// text writes keys as a person would into the Secret.
func text(keys gossipkeys.Keys) []byte {
	var b bytes.Buffer
	for _, k := range keys {
		b.WriteString(base64.StdEncoding.EncodeToString(k.Bytes()))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// fill writes keys where a text names them.
func (l *ledger) fill(text SecretText) ([]byte, error) {
	var errs []error
	filled := text.fill(func(name KeyName) []byte {
		key, err := l.key(name)
		errs = append(errs, err)
		return base64.StdEncoding.AppendEncode(nil, key.Bytes())
	})
	return filled, errors.Join(errs...)
}

// read is this package's own reading of the format, to judge the production
// code by: one key a line, blank lines aside; nil if there is any doubt.
func read(data []byte) gossipkeys.Keys {
	var keys gossipkeys.Keys
	for _, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(raw) != 16 && len(raw) != 24 && len(raw) != 32 {
			return nil
		}
		key, err := gossipkeys.NewKey(raw)
		if err != nil {
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}
