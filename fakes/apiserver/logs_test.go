package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule06LogsComeFromTheNode(t *testing.T) {
	var asked string
	a := newAPI(t, func(o *apiserver.Options) {
		o.Logs = func(p *corev1.Pod, opts *corev1.PodLogOptions) ([]byte, error) {
			asked = p.Name + "/" + opts.Container
			return []byte("hello\n"), nil
		}
	})
	a.create(pods, pod("waiting", ""))
	a.create(pods, pod("running", "n1"))
	two := pod("two", "n1")
	two.Spec.Containers = append(two.Spec.Containers, corev1.Container{Name: "d", Image: "image:v1"})
	a.create(pods, two)
	log := func(name string, opts *corev1.PodLogOptions) *apiserver.Request {
		return a.request(apiserver.Get, pods, name, sub("log"), func(r *apiserver.Request) { r.Logs = opts })
	}
	equal(t, "without a node", a.must(log("waiting", nil)).Code, 204)
	equal(t, "text", string(a.must(log("running", nil)).Raw), "hello\n")
	equal(t, "asked", asked, "running/c")
	a.refused(log("two", nil), 400, "BadRequest", "a container name must be specified for pod two, choose one of: [c d]")
	a.refused(log("two", &corev1.PodLogOptions{Container: "x"}), 400, "BadRequest", "container x is not valid for pod two")
	a.must(log("two", &corev1.PodLogOptions{Container: "d"}))
	equal(t, "asked", asked, "two/d")
	negative := int64(-1)
	a.refused(log("running", &corev1.PodLogOptions{TailLines: &negative}), 422, "Invalid",
		`PodLogOptions "running" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0`)
	a.refused(log("none", nil), 404, "NotFound", `pods "none" not found`)
}

// TestRule06WhatNeedsAKubeletIsRefused: no test can take these for an answer.
func TestRule06WhatNeedsAKubeletIsRefused(t *testing.T) {
	a := newAPI(t)
	a.create(pods, pod("p", "n1"))
	a.refused(a.request(apiserver.Get, pods, "p", sub("log")), 501, "NotImplemented", "the fake API server does not model logs of pods on nodes without Options.Logs")
	for _, name := range []string{"exec", "attach", "portforward", "proxy"} {
		a.refused(a.request(apiserver.Create, pods, "p", sub(name)), 501, "NotImplemented", "the fake API server does not model pods/"+name)
	}
	a.create(pods, pod("waiting", ""))
	for _, name := range []string{"exec", "attach", "portforward"} {
		a.refused(a.request(apiserver.Get, pods, "waiting", sub(name)), 400, "BadRequest", "pod waiting does not have a host assigned")
		a.refused(a.request(apiserver.Get, pods, "none", sub(name)), 404, "NotFound", `pods "none" not found`)
	}
}
