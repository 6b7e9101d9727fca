package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// controllerManager is a running kube-controller-manager.
type controllerManager struct {
	cmd *exec.Cmd
	// ended is closed after the process has ended, of whatever cause.
	ended chan struct{}
}

// startControllers returns when the service account controller has been at
// work, which is what pods wait for first.
func (s *Server) startControllers(ctx context.Context) (*controllerManager, error) {
	const program = binaries.ControllerManager
	launcher, err := s.folder.launcher(program, s.programs)
	if err != nil {
		return nil, err
	}
	kubeconfig, root := s.folder.file("controllers.kubeconfig"), s.folder.file("root-ca.crt")
	if err := s.writeKubeconfig(kubeconfig, s.controllersToken()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(root, s.CA(), 0o600); err != nil {
		return nil, fmt.Errorf("write the root certificate for the controllers: %w", err)
	}
	cmd := exec.Command(launcher,
		"--kubeconfig="+kubeconfig,
		"--root-ca-file="+root,
		"--service-account-private-key-file="+filepath.Join(s.environment.ControlPlane.APIServer.CertDir, "sa-signer.key"),
		"--use-service-account-credentials=true",
		"--leader-elect=false",
		"--secure-port=0",
	)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	m := &controllerManager{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	if err := s.awaitDefaultAccount(ctx, m); err != nil {
		return nil, fmt.Errorf("wait for the controllers: %w%s", err, s.folder.lastWords(program))
	}
	return m, nil
}

func (m *controllerManager) stop() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		select {
		case <-m.ended:
			return nil
		default:
			return fmt.Errorf("stop %s: %w", binaries.ControllerManager, err)
		}
	}
	<-m.ended
	return nil
}
