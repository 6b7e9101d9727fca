package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Compact deletes all history in etcd, so that only the present state is left
// there. The watch caches of kube-apiserver keep what they have, until
// [Server.Restart].
func (s *Server) Compact(ctx context.Context) error {
	var now struct {
		Header struct {
			Revision json.Number `json:"revision"`
		} `json:"header"`
	}
	// Any key will do: every answer tells the revision.
	if err := s.etcd(ctx, "range", map[string]any{"key": []byte("/")}, &now); err != nil {
		return err
	}
	return s.etcd(ctx, "compaction", map[string]any{"revision": now.Header.Revision, "physical": true}, nil)
}

// etcd calls a method of etcd's key-value service over its JSON gateway.
func (s *Server) etcd(ctx context.Context, method string, request map[string]any, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("ask etcd for a %s: %w", method, err)
	}
	url := s.environment.ControlPlane.Etcd.URL.JoinPath("v3", "kv", method)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask etcd for a %s: %w", method, err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("ask etcd for a %s: %w", method, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("read etcd's answer to %s: %w", method, err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("etcd refused %s: %s: %s", method, resp.Status, data)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("read etcd's answer to %s: %w", method, err)
	}
	return nil
}
