package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule05WhatNeverChanges(t *testing.T) {
	a := newAPI(t)
	yes := true
	a.create(configMaps, configMap("a", data("k", "v"), func(cm *corev1.ConfigMap) { cm.Immutable = &yes }))
	a.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	a.create(deployments, deployment("a"))
	a.create(services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	slices := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	a.create(slices, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "a"}, AddressType: "IPv4"})
	bindings := rbacv1.SchemeGroupVersion.WithResource("rolebindings")
	a.create(bindings, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "a"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}})
	tolerant := pod("a", "n1")
	tolerant.Spec.Tolerations = []corev1.Toleration{{Key: "example.com/t", Operator: "Exists"}}
	a.create(pods, tolerant)

	for _, c := range []struct {
		gvr   schema.GroupVersionResource
		patch string
		field string
	}{
		{configMaps, `{"data":{"k":"w"}}`, "data: Forbidden: field is immutable when `immutable` is set"},
		{configMaps, `{"immutable":null}`, "immutable: Forbidden: field is immutable when `immutable` is set"},
		{secrets, `{"type":"example.com/x"}`, `type: Invalid value: "example.com/x": field is immutable`},
		{deployments, `{"spec":{"selector":{"matchLabels":{"app":"b"}},"template":{"metadata":{"labels":{"app":"b"}}}}}`,
			`spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable`},
		{deployments, `{"spec":{"template":{"metadata":{"labels":{"app":"b"}}}}}`,
			"spec.template.metadata.labels: Invalid value: {\"app\":\"b\"}: `selector` does not match template `labels`"},
		{services, `{"spec":{"clusterIP":"10.0.0.200","clusterIPs":["10.0.0.200"]}}`, `spec.clusterIPs[0]: Invalid value: ["10.0.0.200"]: may not change once set`},
		{slices, `{"addressType":"IPv6"}`, "addressType: Invalid value: null: field is immutable"},
		{bindings, `{"roleRef":{"name":"s"}}`, "roleRef: Invalid value: "},
		{pods, `{"spec":{"hostNetwork":true}}`, "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"},
		{pods, `{"spec":{"tolerations":[]}}`, "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
	} {
		_, err := a.Do(a.request(apiserver.Patch, c.gvr, "a", merge(c.patch)))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), " is invalid: "+c.field) {
			t.Errorf("%s %s: %v", c.gvr.Resource, c.patch, err)
		}
	}
	a.patch(configMaps, "a", `{"metadata":{"labels":{"l":"1"}}}`)
	a.patch(pods, "a", `{"spec":{"activeDeadlineSeconds":60}}`)
}

func TestRule05APutReplaces(t *testing.T) {
	a := newAPI(t)
	d := deployment("d")
	three := int32(3)
	d.Labels, d.Finalizers, d.Spec.Replicas = map[string]string{"l": "1"}, []string{"example.com/f"}, &three
	a.create(deployments, d)
	a.patch(deployments, "d", `{"status":{"replicas":3}}`, sub("status"))
	got := a.update(deployments, deployment("d")).(*appsv1.Deployment)
	equal(t, "labels", len(got.Labels)+len(got.Finalizers), 0)
	equal(t, "replicas and their status", fmt.Sprint(*got.Spec.Replicas, got.Status.Replicas), "1 3")
}

func TestRule13PodsAreFilledIn(t *testing.T) {
	a := newAPI(t)
	p := a.create(pods, pod("p", "")).(*corev1.Pod)
	s := p.Spec
	equal(t, "policies", fmt.Sprintln(s.RestartPolicy, s.DNSPolicy, s.SchedulerName, *s.TerminationGracePeriodSeconds, *s.EnableServiceLinks, *s.Priority, *s.PreemptionPolicy),
		"Always ClusterFirst default-scheduler 30 true 0 PreemptLowerPriority\n")
	equal(t, "image", s.Containers[0].ImagePullPolicy, corev1.PullIfNotPresent)
	equal(t, "tolerations", len(s.Tolerations), 2)
	equal(t, "status", fmt.Sprintln(p.Status.Phase, p.Status.QOSClass), "Pending BestEffort\n")

	for image, want := range map[string]corev1.PullPolicy{
		"a": corev1.PullAlways, "a:latest": corev1.PullAlways, "host:5000/a": corev1.PullAlways, "a:v1": corev1.PullIfNotPresent,
		"a@sha256:" + strings.Repeat("0", 64): corev1.PullIfNotPresent,
	} {
		p := pod("", "")
		p.GenerateName, p.Spec.Containers[0].Image = "p-", image
		equal(t, image, a.create(pods, p).(*corev1.Pod).Spec.Containers[0].ImagePullPolicy, want)
	}
}

func TestRule13ClassesOfService(t *testing.T) {
	a := newAPI(t)
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cpu != "" {
			l["cpu"] = resource.MustParse(cpu)
		}
		if memory != "" {
			l["memory"] = resource.MustParse(memory)
		}
		return l
	}
	for want, r := range map[corev1.PodQOSClass]corev1.ResourceRequirements{
		corev1.PodQOSGuaranteed: {Limits: list("1", "1Gi")},
		corev1.PodQOSBurstable:  {Limits: list("1", "1Gi"), Requests: list("500m", "")},
		corev1.PodQOSBestEffort: {},
	} {
		p := pod("", "")
		p.GenerateName, p.Spec.Containers[0].Resources = "p-", r
		equal(t, string(want), a.create(pods, p).(*corev1.Pod).Status.QOSClass, want)
	}
}

func TestRule13PriorityClassesAreResolved(t *testing.T) {
	a := newAPI(t)
	classes := schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
	a.create(classes, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000})
	p := pod("p", "")
	p.Spec.PriorityClassName = "high"
	equal(t, "priority", *a.create(pods, p).(*corev1.Pod).Spec.Priority, 1000)
	p = pod("q", "")
	p.Spec.PriorityClassName = "none"
	a.refused(a.request(apiserver.Create, pods, "", body(p)), 403, "Forbidden", `pods "q" is forbidden: no PriorityClass with name none was found`)
}

func TestRule13LimitRangesFillInAndRefuse(t *testing.T) {
	a := newAPI(t)
	cpu := func(q string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(q)} }
	a.create(corev1.SchemeGroupVersion.WithResource("limitranges"), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "lr"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: "Container", Default: cpu("500m"), DefaultRequest: cpu("100m"), Max: cpu("1")}},
	}})
	p := a.create(pods, pod("p", "")).(*corev1.Pod)
	r := p.Spec.Containers[0].Resources
	equal(t, "filled in", r.Limits.Cpu().String()+" "+r.Requests.Cpu().String(), "500m 100m")
	equal(t, "note", p.Annotations["kubernetes.io/limit-ranger"], "LimitRanger plugin set: cpu request for container c; cpu limit for container c")
	big := pod("q", "")
	big.Spec.Containers[0].Resources.Limits = cpu("2")
	a.refused(a.request(apiserver.Create, pods, "", body(big)), 403, "Forbidden", `pods "q" is forbidden: maximum cpu usage per Container is 1, but limit is 2`)
}

func TestRule13ServicesGetAddresses(t *testing.T) {
	a := newAPI(t)
	service := func(name string, change func(*corev1.ServiceSpec)) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		change(&s.Spec)
		return s
	}
	one := a.create(services, service("a", func(*corev1.ServiceSpec) {})).(*corev1.Service)
	two := a.create(services, service("b", func(s *corev1.ServiceSpec) { s.Type = "NodePort" })).(*corev1.Service)
	if one.Spec.ClusterIP == two.Spec.ClusterIP || one.Spec.ClusterIP == "" || two.Spec.Ports[0].NodePort < 30000 {
		t.Errorf("addresses %s and %s, node port %d", one.Spec.ClusterIP, two.Spec.ClusterIP, two.Spec.Ports[0].NodePort)
	}
	equal(t, "target port", one.Spec.Ports[0].TargetPort.IntValue(), 80)
	equal(t, "headless", a.create(services, service("c", func(s *corev1.ServiceSpec) { s.ClusterIP = "None" })).(*corev1.Service).Spec.ClusterIP, "None")
	if _, err := a.Do(a.request(apiserver.Create, services, "", body(service("d", func(s *corev1.ServiceSpec) { s.ClusterIP = one.Spec.ClusterIP })))); !apierrors.IsInvalid(err) {
		t.Errorf("an address that is taken: %v", err)
	}
	equal(t, "a PUT without address keeps it", a.update(services, service("a", func(*corev1.ServiceSpec) {})).(*corev1.Service).Spec.ClusterIP, one.Spec.ClusterIP)
	grown := a.update(services, service("a", func(s *corev1.ServiceSpec) { s.Type = "NodePort" })).(*corev1.Service)
	if grown.Spec.Ports[0].NodePort == 0 || grown.Spec.Ports[0].NodePort == two.Spec.Ports[0].NodePort {
		t.Errorf("node port %d", grown.Spec.Ports[0].NodePort)
	}
}

func TestRule13JobsSelectTheirOwnPods(t *testing.T) {
	a := newAPI(t)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	j.Spec.Template.Spec = pod("", "").Spec
	j.Spec.Template.Spec.RestartPolicy = "Never"
	got := a.create(batchv1.SchemeGroupVersion.WithResource("jobs"), j).(*batchv1.Job)
	want := map[string]string{"batch.kubernetes.io/controller-uid": string(got.UID)}
	equal(t, "selector", got.Spec.Selector.MatchLabels, want)
	equal(t, "labels", got.Spec.Template.Labels["controller-uid"]+got.Labels["job-name"], string(got.UID)+"j")
	equal(t, "numbers", fmt.Sprint(*got.Spec.BackoffLimit, *got.Spec.Completions, *got.Spec.Parallelism), "6 1 1")
}

func TestRule13SecretsOfATypeHaveItsKeys(t *testing.T) {
	a := newAPI(t)
	s := a.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string][]byte{"k": []byte("old"), "o": []byte("x")}, StringData: map[string]string{"k": "new"}}).(*corev1.Secret)
	equal(t, "stringData wins and is gone", string(s.Data["k"])+string(s.Data["o"])+fmt.Sprint(len(s.StringData)), "newx0")
	bad := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Type: corev1.SecretTypeDockerConfigJson, StringData: map[string]string{".dockerconfigjson": "password"}}
	_, err := a.Do(a.request(apiserver.Create, secrets, "", body(bad)))
	if !apierrors.IsInvalid(err) || strings.Contains(err.Error(), "password") {
		t.Errorf("a secret in an error: %v", err)
	}
	// A stored object is not touched by a write that adds to it.
	a.patch(secrets, "a", `{"stringData":{"o":"newer"}}`)
	equal(t, "the caller's object", string(s.Data["o"]), "x")
}

func TestRule13WhatIsReadBackHasBeenStored(t *testing.T) {
	a := newAPI(t)
	p := pod("p", "n1")
	p.Labels, p.Spec.Volumes = map[string]string{}, []corev1.Volume{}
	got := a.create(pods, p).(*corev1.Pod)
	if got.Labels != nil || got.Spec.Volumes != nil {
		t.Errorf("empty lists and maps came back: %#v %#v", got.Labels, got.Spec.Volumes)
	}
	r := a.must(a.request(apiserver.Create, configMaps, "", raw(`{"metadata":{"name":"c","annotations":{"t":null}},"data":{"k":null}}`)))
	equal(t, "null in a map of strings", r.Object.(*corev1.ConfigMap).Data, map[string]string{"k": ""})
}

func TestRule13QuotasCount(t *testing.T) {
	a := newAPI(t)
	quotas := corev1.SchemeGroupVersion.WithResource("resourcequotas")
	a.create(quotas, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("1"), "requests.cpu": resource.MustParse("1")}}})
	secret := func(name string) *apiserver.Request {
		return a.request(apiserver.Create, secrets, "", body(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	a.must(secret("s0")) // no controller has looked at the quota yet
	a.patch(quotas, "q", `{"status":{"hard":{"count/secrets":"1","requests.cpu":"1"},"used":{"count/secrets":"0","requests.cpu":"0"}}}`, sub("status"))
	a.must(secret("s1"))
	a.refused(secret("s2"), 403, "Forbidden", `secrets "s2" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1`)
	p := pod("p", "")
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("600m")}
	a.create(pods, p)
	p.Name = "q"
	a.refused(a.request(apiserver.Create, pods, "", body(p)), 403, "Forbidden", `pods "q" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1`)
	q := a.get(quotas, "q").(*corev1.ResourceQuota)
	equal(t, "used", q.Status.Used.Name("requests.cpu", resource.DecimalSI).String(), "600m")
}
