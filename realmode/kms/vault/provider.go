package vault

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// DefaultAuthPath is where AppRole is mounted.
const DefaultAuthPath = "approle"

// Config says which key is used, and how its Vault is reached. Address, Key and Clock
// are required, and either TokenFile or both RoleIDFile and SecretIDFile. The files must
// be open to nobody else; they are read again whenever what was in them is refused.
type Config struct {
	Address    string // such as https://vault.example.com:8200
	Namespace  string
	Key        string // the mount and the key, such as transit/etcd
	CAFile     string // certificates that the server's must chain to; empty for those of the system
	ServerName string // that its certificate is for, if it is not the host of the address

	TokenFile string

	RoleIDFile, SecretIDFile string
	AuthPath                 string // empty for DefaultAuthPath

	Clock clock.Clock

	// Count is told of each request and the status of its answer; nil for nobody.
	Count func(operation, status string)
}

// Provider is kms.Provider by a key in a Vault.
type Provider struct {
	mount, name string
	prefix      string // of the ids of versions
	client      *client
	session     *session

	mu     sync.Mutex
	newest version
}

// version is one of a key.
type version struct {
	number  int
	created int64 // in seconds since 1970
}

var _ kms.Provider = (*Provider)(nil)

// ErrOtherKey says that a key is gone, and that another has its name.
var ErrOtherKey = errors.New("the key was deleted, and another one has its name: what was sealed with it cannot be opened")

var errUnfit = errors.New("the key is not fit to seal")

// New returns a provider that has not connected yet.
func New(cfg Config) (*Provider, error) {
	cfg.Namespace = strings.Trim(cfg.Namespace, "/")
	mount, name := path.Split(strings.Trim(cfg.Key, "/"))
	mount = strings.Trim(mount, "/")
	switch {
	case mount == "" || name == "" || path.Clean(cfg.Key) != strings.TrimSuffix(cfg.Key, "/") || strings.ContainsAny(cfg.Key, " ?#%"):
		return nil, fmt.Errorf("the key %q is no mount and key, such as transit/etcd", cfg.Key)
	case (cfg.TokenFile == "") == (cfg.RoleIDFile == "" && cfg.SecretIDFile == ""):
		return nil, errors.New("there has to be either a file with a token, or two with the ids of a role")
	case (cfg.RoleIDFile == "") != (cfg.SecretIDFile == ""):
		return nil, errors.New("a role has two ids, and there is a file with one of them only")
	}
	if cfg.AuthPath == "" {
		cfg.AuthPath = DefaultAuthPath
	}
	c, err := newClient(&cfg)
	if err != nil {
		return nil, err
	}
	return &Provider{
		mount: mount, name: name, prefix: "vault:" + path.Join("/", cfg.Namespace, mount, name) + ":",
		client: c, session: &session{cfg: &cfg, client: c},
	}, nil
}

// request makes a request with a token, and with another one if that was refused.
func (p *Provider) request(ctx context.Context, operation string, body, answer any, secrets ...string) error {
	token, err := p.session.current(ctx)
	if err != nil {
		return err
	}
	req := request{operation: operation, path: path.Join(p.mount, operation, p.name), token: token, body: body, secrets: secrets}
	err = p.client.do(ctx, req, answer)
	if !errors.Is(err, kms.ErrForbidden) {
		return err
	}
	if req.token, _ = p.session.replace(ctx, token); req.token == "" {
		return err // the first error says why
	}
	return p.client.do(ctx, req, answer)
}

// Look implements kms.Provider. A server that lags behind another may know of fewer
// versions than were seen before: that is no news.
func (p *Provider) Look(ctx context.Context) (string, error) {
	if err := p.session.tend(ctx); err != nil {
		return "", err
	}
	var answer struct {
		Data struct {
			Latest   int                        `json:"latest_version"`
			Keys     map[string]json.RawMessage `json:"keys"`
			Derived  bool                       `json:"derived"`
			Encrypts bool                       `json:"supports_encryption"`
			Decrypts bool                       `json:"supports_decryption"`
		}
	}
	if err := p.request(ctx, "keys", nil, &answer); err != nil {
		return "", p.about(err)
	}
	switch d := &answer.Data; {
	case !d.Encrypts || !d.Decrypts:
		return "", p.about(fmt.Errorf("%w: its type does not encrypt", errUnfit))
	case d.Derived:
		return "", p.about(fmt.Errorf("%w: it is a derived key", errUnfit))
	}
	created, err := createdAt(answer.Data.Keys[strconv.Itoa(answer.Data.Latest)])
	if err != nil || answer.Data.Latest < 1 {
		return "", p.about(fmt.Errorf("%w: it does not say when version %d was made", errUnfit, answer.Data.Latest))
	}
	seen := version{answer.Data.Latest, created}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch before := p.newest; {
	case seen.number == before.number && seen.created != before.created,
		seen.number < before.number && seen.created > before.created:
		return "", p.about(ErrOtherKey)
	case seen.number > before.number:
		p.newest = seen
	}
	return p.id(p.newest), nil
}

func (p *Provider) about(err error) error { return fmt.Errorf("key %s/%s: %w", p.mount, p.name, err) }

// createdAt reads a time that is a number, or in the way of keys with two halves a field.
func createdAt(data json.RawMessage) (int64, error) {
	var seconds int64
	if err := json.Unmarshal(data, &seconds); err == nil {
		return seconds, nil
	}
	var pair struct {
		Created time.Time `json:"creation_time"`
	}
	if err := json.Unmarshal(data, &pair); err != nil || pair.Created.IsZero() {
		return 0, errUnfit
	}
	return pair.Created.Unix(), nil
}

func (p *Provider) id(v version) string {
	return fmt.Sprintf("%sv%d:%d", p.prefix, v.number, v.created)
}

// number is the number of the version of that id.
func (p *Provider) number(id string) (int, error) {
	var v version
	rest, ok := strings.CutPrefix(id, p.prefix)
	if _, err := fmt.Sscanf(rest, "v%d:%d", &v.number, &v.created); !ok || err != nil || p.id(v) != id || v.number < 1 {
		return 0, fmt.Errorf("%w: %q is none of %s/%s", kms.ErrUnknownKey, id, p.mount, p.name)
	}
	return v.number, nil
}

// head is what a Vault writes before a ciphertext.
func head(number int) string { return fmt.Sprintf("vault:v%d:", number) }

// Seal implements kms.Provider. The ciphertext is what a Vault's has after its head,
// which the id of the version tells: so there is one form of it only.
func (p *Provider) Seal(ctx context.Context, keyID string, text []byte) ([]byte, error) {
	number, err := p.number(keyID)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct{ Ciphertext string }
	}
	encodedText := base64.StdEncoding.EncodeToString(text)
	body := map[string]any{"plaintext": encodedText, "key_version": number}
	if err := p.request(ctx, "encrypt", body, &answer, encodedText); err != nil {
		return nil, p.about(err)
	}
	encoded, ok := strings.CutPrefix(answer.Data.Ciphertext, head(number))
	sealed, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, p.about(fmt.Errorf("%w: what it has sealed is not of version %d", kms.ErrUnavailable, number))
	}
	return sealed, nil
}

// Open implements kms.Provider.
func (p *Provider) Open(ctx context.Context, keyID string, ciphertext []byte) ([]byte, error) {
	number, err := p.number(keyID)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct{ Plaintext []byte }
	}
	body := map[string]any{"ciphertext": head(number) + base64.StdEncoding.EncodeToString(ciphertext)}
	err = p.request(ctx, "decrypt", body, &answer)
	switch {
	case errors.Is(err, errRefused):
		return nil, p.about(fmt.Errorf("%w: %w", kms.ErrBroken, err))
	case err != nil:
		return nil, p.about(err)
	}
	return answer.Data.Plaintext, nil
}
