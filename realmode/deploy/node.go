package deploy

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/node"
)

// Node is the account of the agents, in a namespace of its own: they are on the network of
// their node, which is more than the namespace of the controllers allows.
var Node = Account{"seedbed-node", "seedbed-node"}

// nodeProbesPort is on the network of the node, where others are too.
const nodeProbesPort = 8091

// Agents returns what runs on every node.
func Agents() []client.Object {
	cfg := node.Config{Namespace: controller.GossipNamespace, Secret: gossipkeys.SecretName}
	meta := metav1.ObjectMeta{Namespace: Node.Namespace, Name: Node.Name}
	own := map[string]string{"app.kubernetes.io/name": Node.Name}
	pod := podSpec(Node, []string{"--gossip"})
	pod.HostNetwork, pod.TopologySpreadConstraints = true, nil
	pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	c := &pod.Containers[0]
	c.Image, c.Args[0], c.Ports = Node.Name, "--listen=127.0.0.1:8091", nil
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		probe.HTTPGet.Host, probe.HTTPGet.Port = "127.0.0.1", intstr.FromInt32(nodeProbesPort)
	}
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	c.Env = []corev1.EnvVar{field("NODE_NAME", "spec.nodeName"), field("NODE_IP", "status.hostIP")}
	return slices.Concat([]client.Object{
		namespace(Node.Namespace, "privileged"),
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta},
		&appsv1.DaemonSet{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: meta,
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: own},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: own}, Spec: pod},
			},
		},
	}, Roles(Node, Node.Name, cfg.Grants()))
}
