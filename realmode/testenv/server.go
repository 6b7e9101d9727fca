package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// startTimeout is for each program and generous: a loaded machine may need far
// longer than the usual three seconds.
const (
	startTimeout = time.Minute
	stopTimeout  = time.Minute
)

// Admin is the user that [Server.Token] belongs to.
const Admin = "admin"

// A Server is a running kube-apiserver with its etcd.
type Server struct {
	programs    binaries.Set
	environment *envtest.Environment
	controllers *controllerManager // nil without
	guard       *guard
	folder      *folder
	token       string
}

// Start starts a server and waits until it is ready. Programs that have not been
// built yet are built first. When ctx ends, building and waiting do; the server
// runs until [Server.Stop].
func Start(ctx context.Context, options Options) (*Server, error) {
	programs := options.Programs
	if programs == nil {
		var err error
		if programs, err = binaries.Build(ctx, options.progress(), options.programs()...); err != nil {
			return nil, err
		}
	}
	server := &Server{programs: programs, token: rand.Text()}
	if err := server.start(ctx, &options); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

func (s *Server) start(ctx context.Context, options *Options) (err error) {
	if s.folder, err = newFolder(options.Logs); err != nil {
		return err
	}
	if s.guard, err = startGuard(s.folder.path); err != nil {
		return err
	}
	if err := s.startEnvironment(options); err != nil {
		return err
	}
	if err := s.writeKubeconfig(s.Kubeconfig(), s.token); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	if options.AllowAll {
		if err := s.allowAll(ctx); err != nil {
			return err
		}
	}
	if !options.Controllers {
		return nil
	}
	s.controllers, err = s.startControllers(ctx)
	return err
}

func (s *Server) startEnvironment(options *Options) error {
	tokens, err := s.writeTokens()
	if err != nil {
		return err
	}
	flags, err := options.serverFlags(tokens)
	if err != nil {
		return err
	}
	apiServer, etcd := &envtest.APIServer{CertDir: s.folder.file("apiserver")}, &envtest.Etcd{DataDir: s.folder.file("etcd")}
	for name, values := range flags {
		apiServer.Configure().Set(name, values...)
	}
	if apiServer.Path, err = s.folder.launcher(binaries.APIServer, s.programs); err != nil {
		return err
	}
	if etcd.Path, err = s.folder.launcher(binaries.Etcd, s.programs); err != nil {
		return err
	}
	s.environment = &envtest.Environment{
		UseExistingCluster:       ptr.To(false),
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
	}
	s.environment.ControlPlane.APIServer, s.environment.ControlPlane.Etcd = apiServer, etcd
	s.environment.ControlPlane.KubectlPath = s.programs[binaries.Kubectl]
	if _, err := s.environment.Start(); err != nil {
		return fmt.Errorf("start kube-apiserver and etcd: %w%s%s", err, s.folder.lastWords(binaries.Etcd), s.folder.lastWords(binaries.APIServer))
	}
	return nil
}

// Restart stops kube-apiserver and starts it again on the same port, with the
// same data and credentials. Its watch caches are lost, the history in etcd is
// not: see [Server.Compact].
func (s *Server) Restart(ctx context.Context) error {
	apiServer := s.environment.ControlPlane.APIServer
	if err := apiServer.Stop(); err != nil {
		return fmt.Errorf("restart kube-apiserver: %w", err)
	}
	if err := apiServer.Start(); err != nil {
		return fmt.Errorf("restart kube-apiserver: %w%s", err, s.folder.lastWords(binaries.APIServer))
	}
	return s.awaitReady(ctx)
}

// Stop ends the server and deletes its files.
func (s *Server) Stop() error {
	var errs []error
	if s.controllers != nil {
		errs = append(errs, s.controllers.stop())
	}
	if s.environment != nil {
		errs = append(errs, s.environment.Stop())
	}
	switch {
	case s.guard != nil:
		errs = append(errs, s.guard.release())
	case s.folder != nil:
		errs = append(errs, os.RemoveAll(s.folder.path))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the test environment: %w", err)
	}
	return nil
}

// URL is where the server is, without a path.
func (s *Server) URL() *url.URL {
	return s.environment.ControlPlane.APIServer.SecureServing.URL("https", "")
}

// Token authenticates as [Admin], a member of system:masters.
func (s *Server) Token() string { return s.token }

// CA is the certificate, in PEM, that signed the server's.
func (s *Server) CA() []byte { return s.environment.ControlPlane.APIServer.CA }

// Config is for clients that act as [Admin]. They are not slowed down.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host:            s.URL().String(),
		BearerToken:     s.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.CA()},
		QPS:             -1,
	}
}

// Kubeconfig is the path of a file with which kubectl acts as [Admin].
func (s *Server) Kubeconfig() string { return s.folder.file("kubeconfig") }

// Program is the path of one of the programs that the server was started with.
func (s *Server) Program(program binaries.Program) (string, error) {
	path := s.programs[program]
	if path == "" {
		return "", fmt.Errorf("the test environment was started without %s", program)
	}
	return filepath.Abs(path)
}
