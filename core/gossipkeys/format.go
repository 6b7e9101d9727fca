package gossipkeys

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
)

// ErrNoKey is wrapped by the error of ParseKeys for data without any key.
var ErrNoKey = errors.New("no key found")

// ParseKeys decodes the data entry of the Secret:
//
//  1. Lines end with \n. White space at both ends of a line, \r included, does
//     not count, and neither does a line that is then empty.
//  2. Every other line is one key in padded standard base64; the first is the
//     primary.
//  3. A key has 16, 24 or 32 bytes; keys of different sizes may be mixed.
//  4. The order of the lines is kept, and so are repeated keys.
//  5. One bad line fails the whole list: a node that skipped it could take
//     another key for the primary than its peers, and split from them.
//  6. A list without keys is an error, which wraps ErrNoKey.
//
// Errors give the index of the bad key among the keys, from zero, and nothing
// of its content.
func ParseKeys(data []byte) (Keys, error) {
	var keys Keys
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		raw, err := base64.StdEncoding.AppendDecode(nil, line)
		if err != nil {
			return nil, fmt.Errorf("key at index %d is not valid base64", len(keys))
		}
		key, err := NewKey(raw)
		if err != nil {
			return nil, fmt.Errorf("key at index %d is invalid: %w", len(keys), err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, ErrNoKey
	}
	return keys, nil
}

// FormatKeys encodes keys as ParseKeys reads them: one line of base64 per key
// and a newline at the very end. Parsing the result gives keys back, except for
// the empty list, which no data stands for.
func FormatKeys(keys Keys) []byte {
	lines := make([][]byte, len(keys))
	for i, k := range keys {
		lines[i] = base64.StdEncoding.AppendEncode(nil, k.Bytes())
	}
	return append(bytes.Join(lines, []byte("\n")), '\n')
}
