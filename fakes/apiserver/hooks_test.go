package apiserver_test

import (
	"errors"
	"fmt"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// onConfigMaps matches writes to ConfigMaps.
var onConfigMaps = admission.Match{
	Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete},
	Groups:     []string{""}, Versions: []string{"v1"}, Resources: []string{"configmaps"},
}

func TestRule15AHookSeesWhatAWebhookIsSent(t *testing.T) {
	a := newAPI(t)
	var seen []string
	a.Store().Hook(admission.Hook{Name: "look.example.com", Match: onConfigMaps, Validate: func(r *admission.Review) admission.Answer {
		seen = append(seen, fmt.Sprintf("%s %s old=%v new=%v dry=%v", r.Operation, r.Name, r.Old != nil, r.Object != nil, r.DryRun))
		return admission.Answer{}
	}})
	a.create(configMaps, configMap("a"))
	a.patch(configMaps, "a", `{}`)
	a.create(secrets, &corev1.Secret{ObjectMeta: configMap("s").ObjectMeta})
	a.delete(configMaps, "a", dryRun)
	equal(t, "reviews", seen, []string{
		"CREATE a old=false new=true dry=false", "UPDATE a old=true new=true dry=false", "DELETE a old=true new=false dry=true",
	})
}

func TestRule15MutatingThenValidationThenValidating(t *testing.T) {
	a := newAPI(t)
	var order []string
	a.Store().Hook(admission.Hook{Name: "m.example.com", Match: onConfigMaps, Mutate: func(r *admission.Review) admission.Answer {
		order = append(order, "mutate uid="+string(r.Object.GetUID()))
		r.Object.SetLabels(map[string]string{"by": "hook"})
		return admission.Answer{Warnings: []string{"changed"}}
	}, Validate: func(r *admission.Review) admission.Answer {
		order = append(order, "validate by="+r.Object.GetLabels()["by"])
		return admission.Answer{}
	}})
	r := a.must(a.request(apiserver.Create, configMaps, "", body(configMap("a"))))
	equal(t, "stored", a.get(configMaps, "a").GetLabels()["by"], "hook")
	equal(t, "warnings", r.Warnings, []string{"changed"})
	equal(t, "order", order, []string{"mutate uid=", "validate by=hook"})
	if _, err := a.Do(a.request(apiserver.Create, configMaps, "", body(configMap("Bad_Name")))); err == nil {
		t.Error("accepted")
	}
	equal(t, "an invalid object is not shown to validating hooks", order[2:], []string{"mutate uid="})
}

func TestRule15RefusalsReadAsThoseOfWebhooks(t *testing.T) {
	a := newAPI(t)
	var answer admission.Answer
	a.Store().Hook(admission.Hook{Name: "h.example.com", Match: onConfigMaps, Validate: func(*admission.Review) admission.Answer { return answer }})
	create := a.request(apiserver.Create, configMaps, "", body(configMap("a")))
	answer = admission.Deny("no")
	a.refused(create, 403, "Forbidden", `admission webhook "h.example.com" denied the request: no`)
	answer = admission.Answer{Denied: true}
	a.refused(create, 400, "", `admission webhook "h.example.com" denied the request without explanation`)
	answer = admission.Answer{Err: errors.New("connection refused")}
	a.refused(create, 500, "InternalError", `Internal error occurred: failed calling webhook "h.example.com": failed to call webhook: connection refused`)
	equal(t, "nothing was stored", names(a.list(configMaps)), "")
}

func TestRule15HooksAreNarrowed(t *testing.T) {
	a := newAPI(t)
	team, _ := labels.Parse("kubernetes.io/metadata.name=kube-system")
	marked, _ := labels.Parse("checked")
	m := onConfigMaps
	m.Namespaces, m.Objects = team, marked
	a.Store().Hook(admission.Hook{Name: "n.example.com", Match: m, Ignore: true, Validate: func(*admission.Review) admission.Answer { return admission.Deny("no") }})
	cm := configMap("a")
	cm.Labels = map[string]string{"checked": ""}
	a.create(configMaps, cm)
	a.create(configMaps, configMap("b"), in("kube-system"))
	a.refused(a.request(apiserver.Create, configMaps, "", body(cm), in("kube-system")), 403, "Forbidden", `admission webhook "n.example.com" denied the request: no`)
}

// TestRule15AHookMayUseTheServer: nothing is locked while hooks run, and a write
// that comes between makes the request start again.
func TestRule15AHookMayUseTheServer(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", data("n", "1")))
	calls := 0
	a.Store().Hook(admission.Hook{Name: "w.example.com", Match: onConfigMaps, Validate: func(r *admission.Review) admission.Answer {
		if calls++; calls == 1 {
			a.patch(configMaps, "a", `{"data":{"between":"1"}}`)
		}
		return admission.Answer{}
	}})
	got := a.patch(configMaps, "a", `{"data":{"n":"2"}}`).(*corev1.ConfigMap)
	equal(t, "both writes", got.Data, map[string]string{"n": "2", "between": "1"})
	equal(t, "calls", calls, 3)
}

// TestRule15HooksHaveConditions has the texts of a real server. A condition that is
// false wins over one that fails.
func TestRule15HooksHaveConditions(t *testing.T) {
	const forbidden = `configmaps "a" is forbidden: `
	for _, c := range []struct {
		expressions []string
		ignore      bool
		text        string // of the refusal; empty: the hook is not asked
	}{
		{[]string{"object.metadata.name.startsWith('a')", "request.operation == 'CREATE'"}, false, `admission webhook "h.example.com" denied the request: no`},
		{[]string{"object.data.k == '2'"}, false, ""},
		{[]string{"request.dryRun"}, false, ""},
		{[]string{"object.data.missing == 'x'"}, false, forbidden + `expression 'object.data.missing == 'x'' resulted in error: no such key: missing`},
		{[]string{"object.data.missing == 'x'"}, true, ""},
		{[]string{"object.data.missing == 'x'", "false"}, false, ""},
		{[]string{"object.data.missing == 'x'", "object.data.other == 'x'"}, false, forbidden +
			`[expression 'object.data.missing == 'x'' resulted in error: no such key: missing, expression 'object.data.other == 'x'' resulted in error: no such key: other]`},
		{[]string{"!authorizer.group('').resource('secrets').check('get').allowed()"}, false, ""},
	} {
		a := newAPI(t)
		h := admission.Hook{Name: "h.example.com", Match: onConfigMaps, Ignore: c.ignore, Validate: func(*admission.Review) admission.Answer { return admission.Deny("no") }}
		for _, e := range c.expressions {
			h.Conditions = append(h.Conditions, registrationv1.MatchCondition{Name: "c", Expression: e})
		}
		a.Store().Hook(h)
		create := a.request(apiserver.Create, configMaps, "", body(configMap("a", data("k", "1"))))
		if c.text == "" {
			a.must(create)
			continue
		}
		a.refused(create, 403, "Forbidden", c.text)
	}
}

// TestRule15PluginsFollowHooks: what a hook adds gets from the built-in plug-ins what
// was there before has got already, and hooks that want it see the object again.
func TestRule15PluginsFollowHooks(t *testing.T) {
	a := newAPI(t, func(o *apiserver.Options) { o.ServiceAccounts = true })
	a.create(serviceAccounts, &corev1.ServiceAccount{ObjectMeta: configMap("default").ObjectMeta})
	onPods := onConfigMaps
	onPods.Resources = []string{"pods"}
	var seen []int
	a.Store().Hook(admission.Hook{Name: "counts.example.com", Match: onPods, Reinvoke: true, Mutate: func(r *admission.Review) admission.Answer {
		seen = append(seen, len(r.Object.(*corev1.Pod).Spec.Containers))
		return admission.Answer{}
	}})
	a.Store().Hook(admission.Hook{Name: "adds.example.com", Match: onPods, Mutate: func(r *admission.Review) admission.Answer {
		p := r.Object.(*corev1.Pod)
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar", Image: "i"})
		return admission.Answer{}
	}})
	got := a.create(pods, pod("p", "")).(*corev1.Pod)
	equal(t, "containers that the first hook saw", seen, []int{1, 2})
	for _, c := range got.Spec.Containers {
		equal(t, "mounts of "+c.Name, len(c.VolumeMounts), 1)
	}
}
