package scenarios

import (
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

// controllerNames are what a cluster's controllers may hold.
func controllerNames() []string {
	names := append([]string{"*"}, controllermanager.Controllers()...)
	for _, name := range controllermanager.Controllers() {
		names = append(names, "-"+name)
	}
	return names
}

// ListControllers describes the controllers of kube-controller-manager that a
// cluster may have.
func (r *Registry) ListControllers() string {
	var b strings.Builder
	for _, name := range controllermanager.Controllers() {
		entry(&b, name, controllermanager.Doc(name))
	}
	return b.String()
}
