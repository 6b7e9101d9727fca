package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// server has the API servers that cases are run against.
type server interface {
	// target is one fit for the case. The error says what the case needs.
	target(ctx context.Context, c *conformance.Case) (conformance.Target, error)
	close() error
}

// fakeServer makes a new fake for every case.
type fakeServer struct{}

func (fakeServer) target(_ context.Context, c *conformance.Case) (conformance.Target, error) {
	if c.Full() {
		return fidelity.NewFullFake()
	}
	return fidelity.NewFake(), nil
}

func (fakeServer) close() error { return nil }

// serverFlags say which real server to use.
type serverFlags struct {
	url, token, ca string
	full           bool
	assets         string
}

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "with --against real: use the API server at this URL, instead of starting one")
	flags.StringVar(&f.token, "token", "", "with --url: bearer token of a member of system:masters named admin")
	flags.StringVar(&f.ca, "ca", "", "with --url: file of the certificates to trust, in PEM")
	flags.BoolVar(&f.full, "full", false, "with --url: kube-controller-manager runs there, and ServiceAccount admission is on")
	flags.StringVar(&f.assets, "assets", os.Getenv("KUBEBUILDER_ASSETS"),
		"with --against real: folder of the programs to start, such as etcd and kube-apiserver (default: $KUBEBUILDER_ASSETS; if that is empty they are built, which takes minutes the first time)")
}

func (f *serverFlags) check() error {
	switch {
	case f.url == "" && (f.token != "" || f.ca != "" || f.full):
		return badInput("--token, --ca and --full are about the server at --url; write that as well")
	case f.url != "" && !strings.HasPrefix(f.url, "http://") && !strings.HasPrefix(f.url, "https://"):
		return badInput("--url %q: write a URL such as https://127.0.0.1:6443", f.url)
	case f.url != "":
		_, err := f.transport()
		return err
	}
	return f.checkPrograms()
}

func (f *serverFlags) checkPrograms() error {
	if f.assets == "" {
		return nil
	}
	for program, path := range f.programs() {
		if _, err := os.Stat(path); err != nil && program != binaries.ControllerManager { // few cases need that
			return badInput("--assets %s: %s is not there", f.assets, program)
		}
	}
	return nil
}

// programs are those of the folder; nil means those that are built.
func (f *serverFlags) programs() binaries.Set {
	if f.assets == "" {
		return nil
	}
	set := binaries.Set{}
	for _, program := range []binaries.Program{binaries.Etcd, binaries.APIServer, binaries.Kubectl, binaries.ControllerManager} {
		set[program] = filepath.Join(f.assets, string(program))
	}
	return set
}

// transport trusts what --ca says.
func (f *serverFlags) transport() (http.RoundTripper, error) {
	config := &tls.Config{}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, badInput("--ca: %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, badInput("--ca %s: there is no certificate in it", f.ca)
		}
	}
	return transport(config), nil
}

func (f *serverFlags) open() *realServer {
	log.SetLogger(logr.Discard()) // a start that fails says so in its error; without a logger, a stack is printed
	return &realServer{flags: f, webhooks: fidelity.ServeWebhooks(), servers: map[bool]*testenv.Server{}}
}

// realServer uses the server at a URL, or starts some.
type realServer struct {
	flags    *serverFlags
	webhooks *fidelity.WebhookServer
	options  []string // of a kube-apiserver that is started
	runs     atomic.Int64

	mu      sync.Mutex
	servers map[bool]*testenv.Server // with controllers, and without
}

func (s *realServer) target(ctx context.Context, c *conformance.Case) (conformance.Target, error) {
	t := conformance.Target{
		WebhookURL: s.webhooks.URL, WebhookCA: s.webhooks.CA,
		Lasting: true, Unique: strconv.FormatInt(time.Now().Unix(), 36) + strconv.Itoa(os.Getpid()) + "r" + strconv.FormatInt(s.runs.Add(1), 36),
	}
	if s.flags.url != "" {
		return t, s.given(&t, c)
	}
	return t, s.started(ctx, &t, c)
}

func (s *realServer) given(t *conformance.Target, c *conformance.Case) (err error) {
	if c.Full() != s.flags.full {
		if c.Full() {
			return errors.New("the case needs kube-controller-manager; say --full if it runs at --url")
		}
		return errors.New("the case was recorded without the controllers that --full says run at --url")
	}
	t.URL, t.Token = s.flags.url, s.flags.token
	t.Transport, err = s.flags.transport()
	return err
}

func (s *realServer) started(ctx context.Context, t *conformance.Target, c *conformance.Case) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	server, ok := s.servers[c.Full()]
	if !ok {
		var err error
		if server, err = testenv.Start(ctx, testenv.Options{Controllers: c.Full(), Programs: s.flags.programs(), Flags: s.options}); err != nil {
			return err
		}
		s.servers[c.Full()] = server
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(server.CA()) {
		return errors.New("the server that was started has no certificate")
	}
	t.URL, t.Token, t.Transport = server.URL().String(), server.Token(), transport(config)
	t.Compact = server.Compact
	t.Restart = func(ctx context.Context) error { return errors.Join(server.Compact(ctx), server.Restart(ctx)) }
	return nil
}

func transport(config *tls.Config) http.RoundTripper {
	return &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100}
}

func (s *realServer) close() error {
	s.webhooks.Close()
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Stop())
	}
	return errors.Join(errs...)
}
