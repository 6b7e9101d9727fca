package deploy

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/realmode/controller"
)

// The accounts.
var (
	Controller = Account{controller.Namespace, "seedbed-controller"}
	Webhook    = Account{controller.Namespace, "seedbed-webhook"}
)

// Image is that of the program, to be replaced by an overlay.
const Image = "seedbed-controller"

// CertificateSecret has the certificate of the webhook.
const CertificateSecret = "seedbed-webhook-tls"

const (
	probesPort  = 8090
	webhookPort = 9443
	certDir     = "/var/run/secrets/seedbed-webhook"
	replicas    = 2
	nobody      = 65532
)

// namespaces are those that nobody else makes.
func namespaces() []client.Object {
	return []client.Object{
		namespace(controller.Namespace, "restricted"),
		// The check of KMS plugins is on the network of the node, as API servers are.
		namespace(controller.EncryptionNamespace, "privileged"),
		namespace(controller.References, "restricted"),
	}
}

// namespace has Pods of a level of the Pod security standards.
func namespace(name, level string) client.Object {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}},
	}
}

// workload returns an account, a Deployment with flags, and what keeps one of it running.
func workload(a Account, args []string, change func(pod *corev1.PodSpec)) []client.Object {
	meta := metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name}
	own := map[string]string{"app.kubernetes.io/name": a.Name}
	pod := podSpec(a, args)
	if change != nil {
		change(&pod)
	}
	return []client.Object{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta},
		&appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta,
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](replicas), Selector: &metav1.LabelSelector{MatchLabels: own},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: own}, Spec: pod},
			},
		},
		&policyv1.PodDisruptionBudget{
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: meta,
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: own}},
		},
	}
}

func podSpec(a Account, args []string) corev1.PodSpec {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")}}}
	}
	return corev1.PodSpec{
		ServiceAccountName: a.Name,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](nobody), FSGroup: ptr.To[int64](nobody),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: a.Name, Image: Image, Args: append([]string{"--listen=:8090"}, args...),
			Env: []corev1.EnvVar{{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}},
			Ports: []corev1.ContainerPort{
				{Name: "probes", ContainerPort: probesPort},
			},
			LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
		// The control plane is where it is needed, and may be all that there is.
		Tolerations:               []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists}},
		TopologySpreadConstraints: spread(a),
	}
}

// spread keeps replicas on different nodes, if it can be.
func spread(a Account) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": a.Name}},
	}}
}

// withCertificate mounts the certificate of the webhook and opens its port.
func withCertificate(pod *corev1.PodSpec) {
	c := &pod.Containers[0]
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: "webhook", ContainerPort: webhookPort})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "certificate", MountPath: certDir, ReadOnly: true})
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "certificate", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: CertificateSecret, DefaultMode: ptr.To[int32](0o440)},
	}})
}
