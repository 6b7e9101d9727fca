package registry

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// A DaemonSet counts the changes of its template in an annotation.

var daemonSetShape = shape.Of(&appsv1.DaemonSet{}, shape.Protobuf)

func templateGeneration(obj Object) string {
	return obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]
}

func setTemplateGeneration(obj Object, n string) {
	if templateGeneration(obj) == n {
		return
	}
	notes := make(map[string]string, len(obj.GetAnnotations())+1)
	for k, v := range obj.GetAnnotations() {
		notes[k] = v
	}
	notes[appsv1.DeprecatedTemplateGeneration] = n
	obj.SetAnnotations(notes)
}

// countFromZero makes an object that says nothing say zero, as reading does.
func countFromZero(obj Object) {
	if _, ok := obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]; !ok {
		setTemplateGeneration(obj, "0")
	}
}

func countTemplates(_ *Context, obj, old Object) {
	d, was := obj.(*appsv1.DaemonSet), old.(*appsv1.DaemonSet)
	n := templateGeneration(was)
	a, b := &appsv1.DaemonSet{}, &appsv1.DaemonSet{}
	a.Spec.Template, b.Spec.Template = d.Spec.Template, was.Spec.Template
	if !daemonSetShape.Equal(a, b) {
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			n = strconv.FormatInt(i+1, 10)
		}
	}
	setTemplateGeneration(d, n)
}
