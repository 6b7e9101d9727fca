package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	requests "k8s.io/component-helpers/resource"
)

// PrepareResize returns what a write to pods/resize makes of the stored pod, and
// whether that is nothing: only resources and how they are changed are taken from what
// was sent. Other containers than the pod has are left for validation to refuse.
func PrepareResize(obj, old Object) (out Object, same bool) {
	sent, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	if len(sent.Spec.Containers) != len(was.Spec.Containers) || len(sent.Spec.InitContainers) != len(was.Spec.InitContainers) {
		return sent, false
	}
	p := beside(sent, was)
	p.Spec.Containers = resizedContainers(sent.Spec.Containers, was.Spec.Containers)
	p.Spec.InitContainers = resizedContainers(sent.Spec.InitContainers, was.Spec.InitContainers)
	if sent.Spec.Resources != nil {
		p.Spec.Resources = sent.Spec.Resources
	}
	return regenerated(p, old)
}

func resizedContainers(sent, was []corev1.Container) []corev1.Container {
	if len(sent) == 0 {
		return was
	}
	out := slices.Clone(was)
	for i := range sent {
		if sent[i].Name != was[i].Name {
			return sent
		}
		out[i].Resources, out[i].ResizePolicy = sent[i].Resources, sent[i].ResizePolicy
	}
	return out
}

const onlyComputing = "only cpu and memory resources are mutable"

// ValidateResize checks that a pod has changed in nothing but the amounts of cpu and
// memory.
func ValidateResize(obj, old Object) field.ErrorList {
	p, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	spec := field.NewPath("spec")
	switch {
	case mirror(was):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case was.Spec.OS != nil && was.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := validatePodSpec(&p.Spec, spec)
	class := was.Status.QOSClass
	if class == "" {
		class = qosClass(was)
	}
	if class != qosClass(p) {
		errs = append(errs, field.Invalid(spec, p.Status.QOSClass, "Pod QOS Class may not change as a result of resizing"))
	}
	if !resizable(was) {
		errs = append(errs, field.Forbidden(spec, "Pod running on node without support for resize"))
	}
	errs = append(errs, resizedPod(p.Spec.Resources, was.Spec.Resources, spec)...)
	order := sameContainers(p.Spec.Containers, was.Spec.Containers, spec.Child("containers"), "containers")
	order = append(order, sameContainers(p.Spec.InitContainers, was.Spec.InitContainers, spec.Child("initContainers"), "initContainers")...)
	if len(order) > 0 {
		return append(errs, order...)
	}
	for i := range was.Spec.InitContainers {
		errs = append(errs, onlyMoreOrLess(&p.Spec.InitContainers[i].Resources, &was.Spec.InitContainers[i].Resources, spec.Child("initContainers").Index(i).Child("resources"))...)
	}
	for i := range was.Spec.Containers {
		errs = append(errs, onlyMoreOrLess(&p.Spec.Containers[i].Resources, &was.Spec.Containers[i].Resources, spec.Child("containers").Index(i).Child("resources"))...)
	}
	for i := range was.Spec.Containers {
		if !sameBesideComputing(&p.Spec.Containers[i], &was.Spec.Containers[i]) {
			errs = append(errs, field.Forbidden(spec, onlyComputing))
		}
	}
	for i := range was.Spec.InitContainers {
		errs = append(errs, resizedInit(&p.Spec.InitContainers[i], &was.Spec.InitContainers[i], spec.Child("initContainers").Index(i))...)
	}
	return errs
}

// resizable reports whether the pod's kubelet tells the resources of containers that
// run, or whether none runs yet.
func resizable(p *corev1.Pod) bool {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

// resizedPod checks the resources of a pod as a whole.
func resizedPod(now, was *corev1.ResourceRequirements, spec *field.Path) field.ErrorList {
	switch {
	case now == nil:
		return nil // those of before are kept
	case was == nil:
		was = &corev1.ResourceRequirements{}
	}
	var errs field.ErrorList
	if removed(now.Requests, was.Requests) {
		errs = append(errs, field.Forbidden(spec.Child("resources", "requests"), "pod-level resource requests cannot be removed"))
	}
	if removed(now.Limits, was.Limits) {
		errs = append(errs, field.Forbidden(spec.Child("resources", "limits"), "pod-level resource limits cannot be removed"))
	}
	if !equality.Semantic.DeepEqual(withoutComputing(now), withoutComputing(was)) {
		errs = append(errs, field.Forbidden(spec, onlyComputing+" at pod-level"))
	}
	return errs
}

// sameContainers complains if containers are not those of before, in their order.
func sameContainers(list, was []corev1.Container, p *field.Path, what string) field.ErrorList {
	if len(list) != len(was) {
		return field.ErrorList{field.Forbidden(p, what+" may not be added or removed on resize")}
	}
	var errs field.ErrorList
	for i := range list {
		if list[i].Name != was[i].Name {
			errs = append(errs, field.Forbidden(p.Index(i).Child("name"), what+" may not be renamed or reordered on resize"))
		}
	}
	return errs
}

// onlyMoreOrLess complains if an amount is not there any more.
func onlyMoreOrLess(now, was *corev1.ResourceRequirements, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if removed(now.Requests, was.Requests) {
		errs = append(errs, field.Forbidden(p.Child("requests"), "resource requests cannot be removed"))
	}
	if removed(now.Limits, was.Limits) {
		errs = append(errs, field.Forbidden(p.Child("limits"), "resource limits cannot be removed"))
	}
	return errs
}

func removed(now, was corev1.ResourceList) bool {
	for _, name := range sortedKeys(was) {
		if _, ok := now[name]; !ok {
			return true
		}
	}
	return false
}

// sameBesideComputing compares containers but for their amounts of cpu and memory.
func sameBesideComputing(a, b *corev1.Container) bool {
	x, y := *a, *b
	x.Resources, y.Resources = *withoutComputing(&a.Resources), *withoutComputing(&b.Resources)
	return equality.Semantic.DeepEqual(x, y)
}

func withoutComputing(r *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	out := r.DeepCopy()
	for _, list := range []corev1.ResourceList{out.Requests, out.Limits} {
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
	}
	return out
}

func resizedInit(c, was *corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !sameBesideComputing(c, was) {
		errs = append(errs, field.Forbidden(p, "only cpu and memory resources for init or sidecar containers are mutable"))
	}
	if sidecar(was) || equality.Semantic.DeepEqual(c, was) {
		return errs
	}
	for i := range c.ResizePolicy {
		if c.ResizePolicy[i].RestartPolicy == corev1.RestartContainer {
			errs = append(errs, field.Forbidden(p, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
		}
	}
	return errs
}

// sidecar reports whether an init container runs as long as the others.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// LimitResize applies the defaults of limit ranges to a pod that is sent to
// pods/resize.
func LimitResize(c *Context, obj Object) {
	p := obj.(*corev1.Pod)
	for _, r := range c.Peers.Peers(limitRangeResource, p.Namespace) {
		applyLimits(r.(*corev1.LimitRange), p)
	}
}

// Features that a node must declare before a pod on it may be changed in that way.
const (
	featureResizeInit = "InPlacePodVerticalScalingInitContainers"
	featureResizePod  = "InPlacePodLevelResourcesVerticalScaling"
)

// AdmitResize does what admission plug-ins do about a resize that is valid: those of
// limit ranges, of what nodes can do, and of the room on the node.
func AdmitResize(c *Context, obj, old Object) error {
	p, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	for _, r := range c.Peers.Peers(limitRangeResource, p.Namespace) {
		if err := checkLimits(r.(*corev1.LimitRange), p); err != nil {
			return forbidden(podResource, p, err.Error())
		}
	}
	if p.Spec.NodeName == "" || p.Generation == was.Generation {
		return nil
	}
	var node *corev1.Node
	for _, o := range c.Peers.Peers(schema.GroupResource{Resource: "nodes"}, "") {
		if o.GetName() == p.Spec.NodeName {
			node = o.(*corev1.Node)
		}
	}
	if node == nil {
		return forbidden(podResource, p, fmt.Sprintf("node %q not found", p.Spec.NodeName))
	}
	missing := slices.DeleteFunc(resizeFeatures(p, was), func(f string) bool { return slices.Contains(node.Status.DeclaredFeatures, f) })
	if len(missing) > 0 {
		return forbidden(podResource, p, fmt.Sprintf("pod update requires features %s which are not available on node %q", strings.Join(missing, ", "), node.Name))
	}
	if os, ok := node.Labels[corev1.LabelOSStable]; ok && os != string(corev1.Linux) {
		return unresizable(p, "UnsupportedPlatform", fmt.Sprintf("pod resize is only supported on linux nodes, node %q is %q", node.Name, os))
	}
	return fitsNode(p, node)
}

func resizeFeatures(p, was *corev1.Pod) []string {
	var out []string
	if !equality.Semantic.DeepEqual(p.Spec.Resources, was.Spec.Resources) {
		out = append(out, featureResizePod)
	}
	for i := range was.Spec.InitContainers {
		if c := &was.Spec.InitContainers[i]; !sidecar(c) && !equality.Semantic.DeepEqual(c.Resources, p.Spec.InitContainers[i].Resources) {
			return append(out, featureResizeInit)
		}
	}
	return out
}

func fitsNode(p *corev1.Pod, node *corev1.Node) error {
	all := requests.PodRequests(p, requests.PodResourcesOptions{})
	var short []string
	cpu, room := all[corev1.ResourceCPU], node.Status.Allocatable[corev1.ResourceCPU]
	if cpu.Cmp(room) > 0 {
		short = append(short, fmt.Sprintf("cpu, requested: %d, allocatable: %d", cpu.MilliValue(), room.MilliValue()))
	}
	memory, room := all[corev1.ResourceMemory], node.Status.Allocatable[corev1.ResourceMemory]
	if memory.Cmp(room) > 0 {
		short = append(short, fmt.Sprintf("memory, requested: %d, allocatable: %d", memory.Value(), room.Value()))
	}
	if len(short) == 0 {
		return nil
	}
	return unresizable(p, "NodeCapacity", "node didn't have enough allocatable resources: "+strings.Join(short, "; "))
}

func unresizable(p *corev1.Pod, reason metav1.CauseType, why string) error {
	err := apierrors.NewForbidden(podResource, p.Name, errors.New(why))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: reason})
	return err
}
