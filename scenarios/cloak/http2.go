package cloak

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// http2 is what a connection of HTTP/2 has: the tables of headers of both ends.
type http2 struct {
	encoder *hpack.Encoder
	block   bytes.Buffer
	decoder *hpack.Decoder
	frames  []byte          // that are not whole yet
	inTable map[string]bool // values that the server knows, and may be meant by an index
}

const frameHeader = 9

func (h *http2) start() {
	const tableSize = 4096
	h.encoder, h.decoder = hpack.NewEncoder(&h.block), hpack.NewDecoder(tableSize, nil)
	h.inTable = map[string]bool{}
}

// encode makes a frame of the headers of a request, with nothing behind it.
func (h *http2) encode(request string) ([]byte, error) {
	h.block.Reset()
	head, _, _ := strings.Cut(request, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	fields := []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":path", Value: strings.Fields(lines[0])[1]}}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
	}
	for _, f := range fields {
		if err := h.encoder.WriteField(f); err != nil {
			return nil, fmt.Errorf("encode headers: %w", err)
		}
	}
	frame := make([]byte, frameHeader, frameHeader+h.block.Len())
	binary.BigEndian.PutUint32(frame, uint32(h.block.Len())<<8|1) // HEADERS
	return append(frame, h.block.Bytes()...), nil
}

// errHeaders is what a server says of headers that make no sense.
var errHeaders = errors.New("headers make no sense")

// decode reads the frames that are whole by then as a server does, strictly, and returns
// the headers as lines.
func (h *http2) decode(text []byte) ([]byte, error) {
	h.frames = append(h.frames, text...)
	var lines []byte
	for len(h.frames) >= frameHeader {
		n := int(binary.BigEndian.Uint32(h.frames) >> 8)
		if len(h.frames) < frameHeader+n {
			break
		}
		fields, err := h.decoder.DecodeFull(h.frames[frameHeader : frameHeader+n])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errHeaders, err)
		}
		for _, f := range fields {
			name := strings.ToUpper(f.Name[:1]) + f.Name[1:]
			lines = fmt.Appendf(lines, "%s: %s\r\n", name, f.Value)
		}
		h.frames = h.frames[frameHeader+n:]
	}
	return lines, nil
}
