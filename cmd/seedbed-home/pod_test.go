package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/home"
)

// manifest reads pod.yaml.
func manifest(t *testing.T) []client.Object {
	t.Helper()
	text, err := os.ReadFile("pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	reader := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	for {
		document := make([]byte, len(text))
		n, err := reader.Read(document)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document[:n], nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object.(client.Object))
	}
}

// TestManifest: API servers take it, and the agent takes its arguments.
func TestManifest(t *testing.T) {
	for _, c := range []struct {
		name  string
		admin func(t *testing.T) client.Client
	}{
		{"simulated", func(t *testing.T) client.Client { return newSimulated(t).Admin() }},
		{"real", func(t *testing.T) client.Client { return newGenuine(t).Admin() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			strict := client.NewNamespacedClient(client.WithFieldValidation(c.admin(t), metav1.FieldValidationStrict), namespace)
			if err := strict.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
				t.Fatal(err)
			}
			for _, object := range manifest(t) {
				if err := strict.Create(t.Context(), object); err != nil {
					t.Errorf("%T: %v", object, err)
				}
			}
		})
	}
	objects := manifest(t)
	pod := objects[len(objects)-1].(*corev1.Pod)
	container := pod.Spec.Containers[0]
	for _, env := range container.Env {
		t.Setenv(env.Name, "from "+env.ValueFrom.FieldRef.FieldPath)
	}
	o, flags := &options{}, pflag.NewFlagSet("pod.yaml", pflag.ContinueOnError)
	o.define(flags)
	if err := flags.Parse(container.Args); err != nil {
		t.Fatal(err)
	}
	if err := o.finish(logr.Discard()); err != nil {
		t.Error(err)
	}
	if o.home.PodUID != "from metadata.uid" || pod.Spec.ReadinessGates[0].ConditionType != home.PodConditionZygoteReady {
		t.Errorf("UID %q, gates %v", o.home.PodUID, pod.Spec.ReadinessGates)
	}
	if !strings.HasPrefix(o.home.GrantTokenFile, container.VolumeMounts[1].MountPath+"/") || !strings.HasPrefix(o.stateDir, container.VolumeMounts[0].MountPath+"/") {
		t.Errorf("token %s, state %s", o.home.GrantTokenFile, o.stateDir)
	}
	// What it may do is what the tests of the daemon give it.
	for _, object := range objects {
		if role, is := object.(*rbacv1.Role); is && !slices.EqualFunc(role.Rules, rules, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }) {
			t.Errorf("rules %v", role.Rules)
		}
	}
}
