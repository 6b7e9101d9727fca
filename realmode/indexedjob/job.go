package indexedjob

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FilesDir is where the program finds Job.Files.
	FilesDir = "/files"

	// Label is that of all objects of a Job, with its name.
	Label = "indexedjob.seedbed.dev/name"

	// RetriesMax is how often the Pod of an index is made again after it has failed.
	// Pods that are lost with their nodes do not count.
	RetriesMax = 3

	// filesMax bounds a ConfigMap, as API servers do.
	filesMax = 1 << 20
)

// Environment of the program.
const (
	NamespaceVariable = "SEEDBED_JOB_NAMESPACE"
	NameVariable      = "SEEDBED_JOB_NAME"
	IndexVariable     = "JOB_COMPLETION_INDEX" // set by Kubernetes
)

// Job is a program that runs once for each index. Namespace, Name, Image and Indexes
// are required.
type Job struct {
	Namespace, Name string
	Image           string

	// Args are those of the image's entry point.
	Args []string

	// Indexes is how many there are, from 0. Parallelism is how many run at once; zero
	// means all.
	Indexes, Parallelism int32

	// Final are the exit codes of the program after which its index is not tried again.
	Final []int32

	// CPU is what each Pod asks for, in cores; zero for nothing.
	CPU float64

	// Files are given to the program in FilesDir, by names without a slash.
	Files map[string][]byte
}

// ErrFilesTooLarge is that files do not fit into a ConfigMap.
var ErrFilesTooLarge = errors.New("the files are larger than a ConfigMap may be, 1 MiB")

// Objects are those that the Job is made of, in the order in which they are to be
// created.
func (j *Job) Objects() ([]client.Object, error) {
	meta := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Name, Labels: map[string]string{Label: j.Name}}
	}
	size := 0
	for _, data := range j.Files {
		size += len(data)
	}
	if size > filesMax {
		return nil, ErrFilesTooLarge
	}
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: j.Namespace, Name: j.Name}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta()},
		&rbacv1.Role{ObjectMeta: meta(), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: j.resultNames(), Verbs: []string{"get", "update"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta(), Subjects: []rbacv1.Subject{subject},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: j.Name},
		},
		&corev1.ConfigMap{ObjectMeta: meta(), BinaryData: j.Files},
		&batchv1.Job{ObjectMeta: meta(), Spec: j.spec()},
	}, nil
}

func (j *Job) spec() batchv1.JobSpec {
	parallel := j.Parallelism
	if parallel == 0 {
		parallel = j.Indexes
	}
	container := corev1.Container{
		Name: "program", Image: j.Image, Args: j.Args,
		Env: []corev1.EnvVar{
			{Name: NameVariable, Value: j.Name},
			{Name: NamespaceVariable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: FilesDir, ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	rules := []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}
	if len(j.Final) > 0 {
		rules = append(rules, batchv1.PodFailurePolicyRule{
			Action:      batchv1.PodFailurePolicyActionFailIndex,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: j.Final},
		})
	}
	if j.CPU > 0 {
		container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(j.CPU*1000), resource.DecimalSI)}
	}
	return batchv1.JobSpec{
		CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To(j.Indexes), Parallelism: ptr.To(parallel),
		// One index that fails for good does not end the others.
		BackoffLimitPerIndex: ptr.To[int32](RetriesMax), MaxFailedIndexes: ptr.To(j.Indexes),
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: rules},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{Label: j.Name}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: j.Name, Containers: []corev1.Container{container},
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Volumes: []corev1.Volume{
					{Name: "files", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: j.Name}}}},
					{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				},
			},
		},
	}
}

// ErrOther is that there is a Job of that name which does something else.
var ErrOther = errors.New("there is a Job of that name already, and it does something else; delete it, or choose another name")

// Apply creates what is not there yet. A Job that is there and does the same is left to
// go on.
func (j *Job) Apply(ctx context.Context, c client.Client) error {
	objects, err := j.Objects()
	if err != nil {
		return fmt.Errorf("make Job %s/%s: %w", j.Namespace, j.Name, err)
	}
	for _, obj := range objects {
		what := fmt.Sprintf("%T %s/%s", obj, j.Namespace, j.Name)
		err := c.Create(ctx, obj)
		if !apierrors.IsAlreadyExists(err) {
			if err != nil {
				return fmt.Errorf("create %s: %w", what, err)
			}
			continue
		}
		if want, ok := obj.(*batchv1.Job); ok {
			there := &batchv1.Job{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), there); err != nil {
				return fmt.Errorf("get %s, which exists already: %w", what, err)
			}
			if !sameProgram(&there.Spec, &want.Spec) {
				return fmt.Errorf("create %s: %w", what, ErrOther)
			}
		}
	}
	return nil
}

// sameProgram compares what two Jobs do; what API servers add is passed over.
func sameProgram(a, b *batchv1.JobSpec) bool {
	x, y := &a.Template.Spec.Containers[0], &b.Template.Spec.Containers[0]
	return ptr.Deref(a.Completions, 0) == ptr.Deref(b.Completions, 0) && x.Image == y.Image && fmt.Sprintf("%q", x.Args) == fmt.Sprintf("%q", y.Args)
}

// Delete removes everything of the Job, results included. What is gone already is no
// error.
func (j *Job) Delete(ctx context.Context, c client.Client) error {
	objects, err := j.Objects()
	if err != nil {
		return fmt.Errorf("delete Job %s/%s: %w", j.Namespace, j.Name, err)
	}
	var all []error
	for _, obj := range objects {
		if err := client.IgnoreNotFound(c.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			all = append(all, fmt.Errorf("delete %T %s/%s: %w", obj, j.Namespace, j.Name, err))
		}
	}
	results := &corev1.ConfigMapList{}
	if err := c.List(ctx, results, client.InNamespace(j.Namespace), client.MatchingLabels{Label: j.Name}); err != nil {
		return errors.Join(append(all, fmt.Errorf("list the results of Job %s/%s: %w", j.Namespace, j.Name, err))...)
	}
	for i := range results.Items {
		if err := client.IgnoreNotFound(c.Delete(ctx, &results.Items[i])); err != nil {
			all = append(all, fmt.Errorf("delete ConfigMap %s/%s: %w", j.Namespace, results.Items[i].Name, err))
		}
	}
	return errors.Join(all...)
}

// resultNames are those of the ConfigMaps that the program may change.
func (j *Job) resultNames() []string {
	var names []string
	for index := range j.Indexes {
		for part := range partsMax {
			names = append(names, resultName(j.Name, index, part))
		}
	}
	return names
}

func resultName(job string, index int32, part int) string {
	return job + "-" + strconv.Itoa(int(index)) + "-" + strconv.Itoa(part)
}
