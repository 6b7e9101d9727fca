package testenv

import (
	"context"
	"fmt"
)

// Stored returns what is in etcd under a key, such as /registry/secrets/default/name; nil
// if there is nothing.
func (s *Server) Stored(ctx context.Context, key string) ([]byte, error) {
	var answer struct {
		Pairs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := s.etcd(ctx, "range", map[string]any{"key": []byte(key)}, &answer); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if len(answer.Pairs) == 0 {
		return nil, nil
	}
	return answer.Pairs[0].Value, nil
}
