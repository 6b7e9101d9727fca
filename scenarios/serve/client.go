package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Client is a client of the debug API of a server.
type Client struct {
	http *http.Client
	url  string
}

// ErrNoSeedbed says that a cluster is there, but not one of this package.
var ErrNoSeedbed = errors.New("the cluster is not one of seedbed serve")

// Dial returns a client for the cluster of a kubeconfig, or of several that are taken
// together as kubectl does. Nothing is asked yet.
func Dial(kubeconfigs ...string) (*Client, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: kubeconfigs}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, unread(kubeconfigs, err)
	}
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		return nil, unread(kubeconfigs, err)
	}
	return &Client{http: client, url: strings.TrimSuffix(config.Host, "/")}, nil
}

// unread says what is wrong with kubeconfigs, and names them once.
func unread(kubeconfigs []string, err error) error {
	for _, path := range kubeconfigs {
		if what, ok := strings.CutPrefix(err.Error(), fmt.Sprintf("error loading config file %q: ", path)); ok {
			return fmt.Errorf("%s is no kubeconfig: %s", path, what)
		}
	}
	if clientcmd.IsEmptyConfig(err) {
		return fmt.Errorf("%s names no cluster", strings.Join(kubeconfigs, ", "))
	}
	return fmt.Errorf("read %s: %w", strings.Join(kubeconfigs, ", "), err)
}

// Do makes a request of the debug API: a method, and a path with its query below
// /debug/seedbed/. The answer is decoded into out, unless that is nil. The error is
// what the server says, or that it does not answer.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, out any) error {
	data, err := c.raw(ctx, method, path, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%w: it answers no JSON", ErrNoSeedbed)
	}
	return nil
}

// Trace copies the trace, JSON lines, of the steps after one; limit is how many events
// at most, or zero.
func (c *Client) Trace(ctx context.Context, after uint64, limit int, out io.Writer) error {
	query := url.Values{"after": {fmt.Sprint(after)}}
	if limit > 0 {
		query.Set("limit", fmt.Sprint(limit))
	}
	data, err := c.raw(ctx, http.MethodGet, "trace?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

func (c *Client) raw(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+debugPath+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "seedbed-ctl")
	resp, err := c.http.Do(req)
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("%s does not answer: %w", c.url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.url, err)
	}
	if resp.StatusCode == http.StatusOK {
		return data, nil
	}
	var said struct{ Error string }
	if json.Unmarshal(data, &said) != nil || said.Error == "" {
		return nil, fmt.Errorf("%s: %w: it answers %s to %s", c.url, ErrNoSeedbed, resp.Status, debugPath)
	}
	return nil, errors.New(said.Error)
}
