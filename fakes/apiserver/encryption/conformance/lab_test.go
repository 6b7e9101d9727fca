package conformance

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

func TestMain(m *testing.M) {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	for name, v := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, v); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil // one of them waits, by the time of the last bubble
	os.Exit(m.Run())
}

var secrets = schema.GroupResource{Resource: "secrets"}

const path = "/registry/secrets/default/s"

// ours is the model's side.
type ours struct {
	timers  *kms.ManualTimers
	sockets *kms.Sockets
}

func newOurs() *ours {
	timers := kms.NewManualTimers()
	return &ours{timers: timers, sockets: kms.NewSockets(timers)}
}

func (o *ours) surroundings() encryption.Surroundings {
	return encryption.Surroundings{Timers: o.timers, Random: rand.Reader, Sockets: o.sockets}
}

func (o *ours) build(t *testing.T, file string) *encryption.Transformers {
	t.Helper()
	c, err := encryption.ParseConfiguration([]byte(file), true)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := encryption.Build(c, o.surroundings())
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// dial is how the real side reaches plugins: by endpoint.
type dial map[string]service.Service

// use makes k8s.io/apiserver reach those plugins. Errors look as if they came by gRPC.
func (d dial) use(t *testing.T) {
	was := encryptionconfig.EnvelopeKMSv2ServiceFactory
	t.Cleanup(func() { encryptionconfig.EnvelopeKMSv2ServiceFactory = was })
	encryptionconfig.EnvelopeKMSv2ServiceFactory = func(_ context.Context, endpoint, _ string, timeout time.Duration) (service.Service, error) {
		return &called{d: d, endpoint: endpoint, timeout: timeout}, nil
	}
}

// called is a plugin as a client sees it.
type called struct {
	d        dial
	endpoint string
	timeout  time.Duration
}

// try makes a call, which takes its time, or the timeout.
func try[R any](ctx context.Context, c *called, make func(kms.Answerer) (R, time.Duration, error)) (R, error) {
	var none R
	p, ok := c.d[c.endpoint]
	if !ok {
		time.Sleep(c.timeout)
		return none, kms.ErrDeadlineExceeded
	}
	r, took, err := make(p.(kms.Answerer))
	if took >= c.timeout {
		time.Sleep(c.timeout)
		return none, kms.ErrDeadlineExceeded
	}
	time.Sleep(took)
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	if err != nil {
		return none, fmt.Errorf("rpc error: code = Unknown desc = %w", err)
	}
	return r, nil
}

func (c *called) Status(ctx context.Context) (*service.StatusResponse, error) {
	return try(ctx, c, kms.Answerer.AnswerStatus)
}

func (c *called) Encrypt(ctx context.Context, uid string, data []byte) (*service.EncryptResponse, error) {
	return try(ctx, c, func(a kms.Answerer) (*service.EncryptResponse, time.Duration, error) {
		return a.AnswerEncrypt(uid, data)
	})
}

func (c *called) Decrypt(ctx context.Context, uid string, req *service.DecryptRequest) ([]byte, error) {
	return try(ctx, c, func(a kms.Answerer) ([]byte, time.Duration, error) { return a.AnswerDecrypt(uid, req) })
}

// write writes a configuration into a file.
func write(t *testing.T, name, content string) string {
	t.Helper()
	if name == "" {
		name = filepath.Join(t.TempDir(), "enc.yaml")
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// load is the real server's way to load a file.
func load(ctx context.Context, t *testing.T, file string) *encryptionconfig.EncryptionConfiguration {
	t.Helper()
	c, err := encryptionconfig.LoadEncryptionConfig(ctx, write(t, "", file), true, "id")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal[T any](t *testing.T, what string, model, real T) {
	t.Helper()
	if diff := cmp.Diff(real, model); diff != "" {
		t.Errorf("%s (-real +model):\n%s", what, diff)
	}
}

// realRead and modelRead say what comes of opening stored bytes.
func realRead(tr value.Transformer, at string, data []byte) (said string) {
	defer func() {
		if r := recover(); r != nil {
			said = fmt.Sprintf("panic: %v", r)
		}
	}()
	text, stale, err := tr.TransformFromStorage(context.Background(), data, value.DefaultContext(at))
	return outcome(text, stale, err)
}

func modelRead(tr *encryption.Transformer, at string, data []byte) string {
	text, stale, _, err := tr.Open(at, data)
	return outcome(text, stale, err)
}

func outcome(text []byte, stale bool, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%x stale=%v", text, stale)
}

func endpoint(id string) string { return "unix:///var/run/kmsplugin/kms-" + id + ".sock" }

// forSecrets is a configuration of providers: "i" is identity, "k1" KMS by plugin 1,
// "c1x2y" aescbc with the keys 1, of bytes x, and 2, of bytes y; so g is aesgcm and s
// secretbox.
func forSecrets(providers ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n")
	for _, p := range providers {
		kind, rest := p[0], p[1:]
		switch kind {
		case 'i':
			b.WriteString("  - identity: {}\n")
			continue
		case 'k':
			fmt.Fprintf(&b, "  - kms: {apiVersion: v2, name: '%s_secrets', endpoint: '%s', timeout: 3s}\n", rest, endpoint(rest))
			continue
		}
		var keys []string
		for ; rest != ""; rest = rest[2:] {
			keys = append(keys, fmt.Sprintf("{name: '%s', secret: %s}", rest[:1], base64.StdEncoding.EncodeToString([]byte(strings.Repeat(rest[1:2], 32)))))
		}
		name := map[byte]string{'c': "aescbc", 'g': "aesgcm", 's': "secretbox"}[kind]
		b.WriteString("  - " + name + ": {keys: [" + strings.Join(keys, ", ") + "]}\n")
	}
	return b.String()
}
