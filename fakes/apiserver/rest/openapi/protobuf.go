package openapi

import (
	"fmt"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
)

// V3Protobuf returns a document of version 3 in protobuf. It is slow: about a
// second for the largest.
func V3Protobuf(document []byte) ([]byte, error) {
	doc, err := openapiv3.ParseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("read an OpenAPI v3 document: %w", err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(doc)
}

// V2Protobuf returns a document of version 2 in protobuf.
func V2Protobuf(document []byte) ([]byte, error) {
	doc, err := openapiv2.ParseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("read an OpenAPI v2 document: %w", err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(doc)
}
