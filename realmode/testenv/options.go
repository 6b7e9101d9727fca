package testenv

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// Options say what kind of server is started. The zero value is what envtest
// starts: RBAC, no controllers, no ServiceAccount admission.
type Options struct {
	// Controllers runs kube-controller-manager as well, with ServiceAccount
	// admission on. Start then returns when the first namespace has its service
	// account.
	Controllers bool

	// ServiceAccountAdmission switches that plugin on without controllers.
	ServiceAccountAdmission bool

	// AllowAll binds everybody to cluster-admin, which is RBAC switched off. (With
	// the authorization mode AlwaysAllow kube-apiserver knows no anonymous users.)
	AllowAll bool

	// Flags are further flags of kube-apiserver, each as "--name=value". They
	// take the place of flags of the same name.
	Flags []string

	// Logs is a folder to which the servers write what they have to say; it must
	// be there. If it is empty, their output is deleted when they stop. Either
	// way the error of a failed start quotes the end of it.
	Logs string

	// Programs are used instead of those that package binaries would build.
	Programs binaries.Set

	// Progress is told of builds, which take minutes; nil means standard error.
	Progress io.Writer
}

func (o *Options) progress() io.Writer {
	if o.Progress == nil {
		return os.Stderr
	}
	return o.Progress
}

// programs are those that the options need.
func (o *Options) programs() []binaries.Program {
	programs := []binaries.Program{binaries.Etcd, binaries.APIServer, binaries.Kubectl}
	if o.Controllers {
		programs = append(programs, binaries.ControllerManager)
	}
	return programs
}

// serverFlags are the flags of kube-apiserver that differ from what envtest
// gives it.
func (o *Options) serverFlags(tokens string) (map[string][]string, error) {
	flags := map[string][]string{
		"token-auth-file":        {tokens},
		"service-account-issuer": {"https://kubernetes.default.svc"},
		"allow-privileged":       {"false"},
		// The address is no one that pods could use, and the record of it is
		// refused for being on loopback.
		"advertise-address":        {"127.0.0.1"},
		"endpoint-reconciler-type": {"none"},
	}
	if o.Controllers || o.ServiceAccountAdmission {
		flags["disable-admission-plugins"] = nil
	}
	given := map[string]bool{}
	for _, flag := range o.Flags {
		name, value, found := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if !strings.HasPrefix(flag, "--") || !found {
			return nil, fmt.Errorf("flag %q of kube-apiserver is not written as --name=value", flag)
		}
		if !given[name] {
			flags[name] = nil
		}
		given[name] = true
		flags[name] = append(flags[name], value)
	}
	return flags, nil
}
