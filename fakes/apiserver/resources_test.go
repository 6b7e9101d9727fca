package apiserver_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// realResources is what a kube-apiserver v1.37.2 with default flags serves, one
// resource or subresource a line, as it said in discovery.
//
//go:embed testdata/resources.txt
var realResources string

// TestRule17EveryResourceOfARealServerIsKnown: served exactly as there, or refused as
// not modelled and not in discovery either.
func TestRule17EveryResourceOfARealServerIsKnown(t *testing.T) {
	a := newAPI(t)
	var got []string
	served := map[string]bool{}
	for _, r := range a.Resources() {
		at := fmt.Sprintf("%s/%s %s", r.Group, r.Version, r.Plural)
		served[at] = true
		got = append(got, fmt.Sprintf("%s %s %v %v %v %v", at, r.Kind, r.Namespaced, r.Verbs, r.ShortNames, r.Categories))
		for _, s := range r.Subresources {
			got = append(got, fmt.Sprintf("%s/%s %s %v %v", at, s.Name, s.Kind.Kind, r.Namespaced, s.Verbs))
		}
	}
	var want []string
	for _, line := range strings.Split(strings.TrimSpace(realResources), "\n") {
		gv, rest, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(rest, " ")
		plural, _, _ := strings.Cut(name, "/")
		if served[gv+" "+plural] {
			want = append(want, line)
			continue
		}
		group, version, _ := strings.Cut(gv, "/")
		gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
		a.refused(a.request(apiserver.List, gvr, "", in("")), 501, "NotImplemented", "the fake API server does not model "+gvr.GroupResource().String())
	}
	slices.Sort(got)
	equal(t, "resources", got, want)
}

// TestRule17WhatIsNotModelledIsRefused: known to clients, and an answer to nothing.
func TestRule17WhatIsNotModelledIsRefused(t *testing.T) {
	a := newAPI(t)
	flowSchemas := configMaps
	flowSchemas.Group, flowSchemas.Resource = "flowcontrol.apiserver.k8s.io", "flowschemas"
	for _, verb := range []apiserver.Verb{apiserver.Get, apiserver.List, apiserver.Create, apiserver.Delete} {
		a.refused(a.request(verb, flowSchemas, "x", in("")), 501, "NotImplemented", "the fake API server does not model flowschemas.flowcontrol.apiserver.k8s.io")
	}
	_, err := a.Watch(a.request(apiserver.WatchVerb, flowSchemas, "", in("")))
	a.status(err, 501, "NotImplemented", "the fake API server does not model flowschemas.flowcontrol.apiserver.k8s.io")
}

func TestRule17EndpointsWarnInEveryAnswer(t *testing.T) {
	a := newAPI(t)
	for _, verb := range []apiserver.Verb{apiserver.List, apiserver.Get, apiserver.Delete, apiserver.DeleteCollection} {
		req := &apiserver.Request{Verb: verb, Resource: configMaps, Namespace: "default"}
		req.Resource.Resource = "endpoints"
		if verb == apiserver.Get || verb == apiserver.Delete {
			req.Name = "none"
		}
		r, _ := a.Do(req)
		if r == nil {
			t.Fatalf("%s: no warning", verb)
		}
		equal(t, string(verb), r.Warnings, []string{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"})
	}
}

func TestRule17ComponentsAreDeprecated(t *testing.T) {
	components := configMaps
	components.Resource = "componentstatuses"
	r := newAPI(t).list(components, in(""))
	equal(t, "names", names(r), "scheduler controller-manager etcd-0")
	equal(t, "warnings", r.Warnings, []string{"v1 ComponentStatus is deprecated in v1.19+"})
}
