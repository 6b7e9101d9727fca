package binaries

import (
	"fmt"
	"slices"
	"strings"
)

// A Program is the name of an executable, without folder.
type Program string

// The programs that can be built.
const (
	Etcd              Program = "etcd"
	APIServer         Program = "kube-apiserver"
	Kubectl           Program = "kubectl"
	ControllerManager Program = "kube-controller-manager"
	Scheduler         Program = "kube-scheduler"
	Kubelet           Program = "kubelet"
	Proxy             Program = "kube-proxy"
	Containerd        Program = "containerd"
	ContainerdShim    Program = "containerd-shim-runc-v2"
	Ctr               Program = "ctr"
	Crictl            Program = "crictl"
)

// A pin is a module that pins programs.
type pin struct {
	name string // its folder in pins/
	// module is the required module whose version is the programs' version.
	module string
	// packages are the main packages of the programs.
	packages map[Program]string
	// versionFlags are what the linker is told, with every VERSION replaced;
	// without them the programs say that they do not know their version.
	versionFlags []string
}

var pins = []pin{
	{
		name:     "etcd",
		module:   "go.etcd.io/etcd/server/v3",
		packages: map[Program]string{Etcd: "go.etcd.io/etcd/server/v3"},
	},
	{
		name:   "kubernetes",
		module: "k8s.io/kubernetes",
		packages: map[Program]string{
			APIServer:         "k8s.io/kubernetes/cmd/kube-apiserver",
			Kubectl:           "k8s.io/kubernetes/cmd/kubectl",
			ControllerManager: "k8s.io/kubernetes/cmd/kube-controller-manager",
			Scheduler:         "k8s.io/kubernetes/cmd/kube-scheduler",
			Kubelet:           "k8s.io/kubernetes/cmd/kubelet",
			Proxy:             "k8s.io/kubernetes/cmd/kube-proxy",
		},
		versionFlags: []string{
			"k8s.io/component-base/version.gitVersion=VERSION",
			"k8s.io/component-base/version.gitMajor=MAJOR",
			"k8s.io/component-base/version.gitMinor=MINOR",
			"k8s.io/component-base/version.gitTreeState=clean",
		},
	},
	{
		name:   "containerd",
		module: "github.com/containerd/containerd/v2",
		packages: map[Program]string{
			Containerd:     "github.com/containerd/containerd/v2/cmd/containerd",
			ContainerdShim: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			Ctr:            "github.com/containerd/containerd/v2/cmd/ctr",
		},
		versionFlags: []string{"github.com/containerd/containerd/v2/version.Version=VERSION"},
	},
	{
		name:         "crictl",
		module:       "sigs.k8s.io/cri-tools",
		packages:     map[Program]string{Crictl: "sigs.k8s.io/cri-tools/cmd/crictl"},
		versionFlags: []string{"sigs.k8s.io/cri-tools/pkg/version.Version=VERSION"},
	},
}

// All returns every program, in order of their names.
func All() []Program {
	var all []Program
	for _, p := range pins {
		for program := range p.packages {
			all = append(all, program)
		}
	}
	slices.Sort(all)
	return all
}

// pinOf finds the module that pins a program.
func pinOf(program Program) (pin, error) {
	for _, p := range pins {
		if p.packages[program] != "" {
			return p, nil
		}
	}
	return pin{}, fmt.Errorf("no program is called %q; there are %v", program, All())
}

// linkerFlags are for programs of the given version, such as "v1.37.2".
func (p pin) linkerFlags(version string) string {
	flags := []string{"-s", "-w"}
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	values := strings.NewReplacer("VERSION", version, "MAJOR", major, "MINOR", minor)
	for _, flag := range p.versionFlags {
		flags = append(flags, "-X", values.Replace(flag))
	}
	return strings.Join(flags, " ")
}
