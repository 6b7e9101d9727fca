package nodeagent

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// What the manifest says of the gate.
const (
	// GateContainer is the name of the init container that runs [Gate].
	GateContainer = "seedbed-encryption-gate"

	// GateRevision and GateRevisionFile are its flags: the revision, or the file that
	// has its number.
	GateRevision     = "--revision"
	GateRevisionFile = "--revision-file"
)

const (
	// GatePoll is the time between two attempts to ask for the policy.
	GatePoll = 5 * time.Second

	// GatePatience is how long an API server waits for somebody who could be asked.
	GatePatience = 30 * time.Second
)

// GateConfig is what [Gate] needs. All fields are required but Log.
type GateConfig struct {
	Live  kube.Reader
	Clock clock.Clock

	// Revision is the one that the API server is about to load; zero for one that is
	// not known.
	Revision int64

	Log logr.Logger
}

// Gate keeps the API server of a node from starting with a revision before the first
// that is safe: the disk of the node may be one of before, and what the API server
// writes before the agent has come to it others could not read. Its error wraps
// [ErrUnsafe]. If no API server answers for a while there is nobody to ask, and
// somebody has to begin.
func Gate(ctx context.Context, cfg GateConfig) error {
	for waited := time.Duration(0); ; waited += GatePoll {
		policy := &v1alpha1.EncryptionPolicy{}
		err := cfg.Live.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, policy)
		switch {
		case err == nil && cfg.Revision < policy.Status.MinSafeRevision:
			return fmt.Errorf("start with revision %d: %w, %d", cfg.Revision, ErrUnsafe, policy.Status.MinSafeRevision)
		case err == nil, apierrors.IsNotFound(err):
			return nil
		case waited >= GatePatience:
			cfg.Log.Info("Nobody can be asked whether the revision is safe", "revision", cfg.Revision, "reason", err.Error())
			return nil
		}
		if err := cfg.Clock.Sleep(ctx, GatePoll); err != nil {
			return err
		}
	}
}

// gate lets the API server start only through the gate, whose arguments are given. It
// runs before everything but the plugins. An empty image is no gate.
func (m *manifest) gate(image string, args ...string) {
	spec := &m.pod.Spec
	var others []corev1.Container
	for i := range spec.InitContainers {
		if spec.InitContainers[i].Name != GateContainer {
			others = append(others, spec.InitContainers[i])
		}
	}
	spec.InitContainers = others
	if image == "" {
		return
	}
	c := corev1.Container{Name: GateContainer, Image: image, Args: args}
	for _, v := range spec.Volumes {
		if v.Name == configVolume {
			c.VolumeMounts = []corev1.VolumeMount{{Name: configVolume, MountPath: v.HostPath.Path, ReadOnly: true}}
		}
	}
	spec.InitContainers = append([]corev1.Container{c}, others...)
}

func gateRevision(n int64) string { return GateRevision + "=" + strconv.FormatInt(n, 10) }
