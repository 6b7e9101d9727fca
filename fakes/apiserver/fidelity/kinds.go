package fidelity

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// A kind is what calls are generated about. Bodies are a base with a few of the
// fields set, each to one of its values; patches set such fields as well. Most
// values are good, so that most calls get somewhere.
type kind struct {
	resource   string
	apiVersion string
	name       string
	cluster    bool
	custom     bool
	weight     int
	alone      bool     // one object of it at most, since the order of several is a matter of chance
	with       []string // resources one of which goes along, as this kind is about them
	base       string   // YAML
	fields     []choice
	status     []choice
	// subresources with the bodies that are sent to them.
	subresources []subresource
	selectors    []string // field selectors
}

// choice is a field and the values, in YAML, that it may get. Only members can
// be named; a list is set as a whole.
type choice struct {
	path   string
	values string
}

type subresource struct {
	name   string
	verbs  []string // create, update, patch, get
	bodies []string // YAML, of a create
	fields []choice // of a patch, or of an update of what was read before
}

// Resources are what calls can be generated about, such as "apps/v1/deployments".
func Resources() []string {
	var out []string
	for _, k := range kinds() {
		out = append(out, k.resource)
	}
	return out
}

func (c choice) list() []any {
	var out []any
	if err := yaml.Unmarshal([]byte(c.values), &out); err != nil {
		panic(fmt.Sprintf("fidelity: values of %s: %v", c.path, err))
	}
	return out
}

func parseYAML(text string) map[string]any {
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		panic(fmt.Sprintf("fidelity: %s: %v", text, err))
	}
	return out
}

// metadataFields are of all kinds.
func metadataFields() []choice {
	return []choice{
		{"metadata.labels", `[{app: a}, {app: b}, {app: a, tier: x}, {}, null, {app: ""}, {"bad key!": x}, {app: "bad value!"}]`},
		{"metadata.labels", `[{app: a}, {app: b, tier: y}]`},
		{"metadata.annotations", `[{note: one}, {note: two}, {"example.com/a": "1", note: ""}, {}, null, {"x/y/z": bad}]`},
		{"metadata.finalizers", `[[example.com/one], [example.com/two, example.com/one], [], null, [plain], [example.com/one, example.com/one]]`},
		{"metadata.ownerReferences", `[[{apiVersion: v1, kind: ConfigMap, name: o, uid: aaaaaaaa-0000-4000-8000-000000000001}],
			[{apiVersion: v1, kind: ConfigMap, name: o, uid: aaaaaaaa-0000-4000-8000-000000000001, controller: true, blockOwnerDeletion: true},
			 {apiVersion: v1, kind: Secret, name: p, uid: aaaaaaaa-0000-4000-8000-000000000002}],
			[{apiVersion: v1, kind: ConfigMap, name: o, uid: aaaaaaaa-0000-4000-8000-000000000001, controller: true},
			 {apiVersion: v1, kind: Secret, name: p, uid: aaaaaaaa-0000-4000-8000-000000000002, controller: true}],
			[{apiVersion: v1, kind: ConfigMap, name: o, uid: aaaaaaaa-0000-4000-8000-000000000001}, {apiVersion: v1, kind: ConfigMap, name: o, uid: aaaaaaaa-0000-4000-8000-000000000001}],
			[{apiVersion: v1, kind: ConfigMap, uid: "", name: ""}], null]`},
		{"metadata.creationTimestamp", `["2001-02-03T04:05:06Z", null]`},
		{"metadata.deletionTimestamp", `["2001-02-03T04:05:06Z", null]`},
		{"metadata.deletionGracePeriodSeconds", `[5, null]`},
		{"metadata.generation", `[7, 0, null]`},
		{"metadata.selfLink", `[/x]`},
		{"metadata.bogus", `[1]`},
	}
}

const podTemplate = `{metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: "i:1"}]}}`

var podSpecFields = []choice{
	{"spec.containers", `[[{name: c, image: "i:1"}], [{name: c, image: "i:2"}], [{name: c, image: i, env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}],
		[{name: c, image: "i:1"}, {name: d, image: "j:1", ports: [{containerPort: 80}, {containerPort: 81, name: web, protocol: UDP}]}],
		[{name: c, image: "i:1", resources: {requests: {cpu: 0.5, memory: 1024Mi}, limits: {cpu: "1", memory: 1Gi}}}],
		[{name: c, image: "i:1", resources: {limits: {cpu: 1}}, imagePullPolicy: Never, command: [a, b], args: []}],
		[{name: c, image: "i:1", livenessProbe: {httpGet: {path: /, port: 80}}, readinessProbe: {tcpSocket: {port: web}, periodSeconds: 3}, startupProbe: {exec: {command: [x]}}}],
		[{name: c, image: "i:1", lifecycle: {preStop: {exec: {command: [x]}}}, securityContext: {runAsUser: 0, privileged: true}, tty: true, workingDir: /w}],
		[{name: c, image: "i:1", volumeMounts: [{name: v, mountPath: /v}]}], [{name: c}], [{name: "C", image: "i"}], [{name: c, image: i}, {name: c, image: i}], [],
		[{name: c, image: "i:1", resources: {requests: {cpu: 2}, limits: {cpu: 1}}}], [{name: c, image: "i:1", ports: [{containerPort: 0}]}], [{name: c, image: "i:1", imagePullPolicy: Often}]]`},
	{"spec.restartPolicy", `[Always, Never, OnFailure, Sometimes]`},
	{"spec.terminationGracePeriodSeconds", `[0, 5, 60, -1]`},
	{"spec.activeDeadlineSeconds", `[100, 50, 0]`},
	{"spec.nodeSelector", `[{disk: ssd}, {}, null]`},
	{"spec.tolerations", `[[{key: a, operator: Exists}], [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: b, value: c}], [{operator: Sometimes}], []]`},
	{"spec.volumes", `[[{name: v, emptyDir: {}}], [{name: v, configMap: {name: m}}, {name: w, secret: {secretName: s, items: [{key: a, path: b}]}}], [{name: v, hostPath: {path: /x}}],
		[{name: v, projected: {sources: [{configMap: {name: m}}, {downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}, {serviceAccountToken: {path: t}}]}}],
		[{name: v}], [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}], [{name: v, persistentVolumeClaim: {claimName: p}}], []]`},
	{"spec.hostNetwork", `[true, false]`},
	{"spec.dnsPolicy", `[Default, ClusterFirst, None, Bad]`},
	{"spec.serviceAccountName", `[sa1, "Bad!"]`},
	{"spec.nodeName", `[n1]`},
	{"spec.hostname", `[h, "Bad!"]`},
	{"spec.priority", `[0]`},
	{"spec.priorityClassName", `[system-node-critical, nope]`},
	{"spec.securityContext", `[{runAsNonRoot: true, fsGroup: 5}, {}, {sysctls: [{name: a.b, value: "1"}]}]`},
	{"spec.initContainers", `[[{name: init, image: "i:1"}], [{name: c, image: "i:1"}], [{name: side, image: "i:1", restartPolicy: Always}]]`},
	{"spec.topologySpreadConstraints", `[[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}], [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]]`},
	{"spec.affinity", `[{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}}, {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}]`},
	{"spec.imagePullSecrets", `[[{name: s}], []]`},
	{"spec.schedulerName", `[other]`},
	{"spec.enableServiceLinks", `[false]`},
	{"spec.schedulingGates", `[[{name: example.com/g}]]`},
	{"spec.overhead", `[{cpu: 1}]`},
	{"spec.bogus", `[1]`},
}

// templateFields are the fields of a pod template.
func templateFields(at string) []choice {
	out := []choice{
		{at + ".metadata.labels", `[{app: a, v: "1"}, {app: b}, {app: a}]`},
		{at + ".metadata.annotations", `[{restarted: "1"}, {restarted: "2"}]`},
	}
	for _, c := range podSpecFields {
		out = append(out, choice{at + "." + c.path, c.values})
	}
	return out
}

func kinds() []kind {
	return []kind{
		{
			resource: "v1/configmaps", apiVersion: "v1", name: "ConfigMap", weight: 10, base: `{data: {k: v}}`,
			fields: []choice{
				{"data.k", `[v, w, "", null, 7]`}, {"data", `[{a: "1"}, {}, null, {"bad key!": x}, {k: v, l: w}, text]`}, {"data.l", `[x, y]`},
				{"binaryData", `[{b: aGk=}, {b: "!!"}, {k: aGk=}, null]`}, {"immutable", `[true, false, null, "yes"]`}, {"bogus", `[1]`},
			},
			selectors: []string{"metadata.name=a", "metadata.name!=a", "metadata.namespace=nope", "data.k=v"},
		},
		{
			resource: "v1/secrets", apiVersion: "v1", name: "Secret", weight: 8, base: `{data: {k: dg==}}`,
			fields: []choice{
				{"data.k", `[dg==, dw==, "", null, "no base64!"]`}, {"stringData", `[{k: w}, {l: x}, {}, null]`}, {"immutable", `[true, false]`},
				{"type", `[Opaque, kubernetes.io/basic-auth, kubernetes.io/tls, kubernetes.io/dockerconfigjson, example.com/x, kubernetes.io/ssh-auth, kubernetes.io/service-account-token]`},
				{"data", `[{tls.crt: eA==, tls.key: eA==}, {username: eA==}, {.dockerconfigjson: e30=}, null, {"bad key!": eA==}]`},
			},
			selectors: []string{"type=Opaque", "metadata.name=b,type!=Opaque"},
		},
		{
			resource: "v1/pods", apiVersion: "v1", name: "Pod", weight: 10, base: `{spec: {containers: [{name: c, image: "i:1"}]}}`, fields: podSpecFields,
			status: []choice{
				{"status.phase", `[Running, Succeeded, Failed, Pending, Bad]`}, {"status.podIP", `[10.1.0.1, "bad"]`}, {"status.podIPs", `[[{ip: 10.1.0.1}], [{ip: 10.1.0.2}]]`},
				{"status.conditions", `[[{type: Ready, status: "True"}], [{type: Ready, status: "False", reason: R, message: m}, {type: PodScheduled, status: "True"}], []]`},
				{"status.message", `[hello]`}, {"status.reason", `[R]`},
				{"status.containerStatuses", `[[{name: c, image: i, imageID: "", ready: true, restartCount: 1, state: {running: {}}}]]`}, {"spec.restartPolicy", `[Never]`},
			},
			subresources: []subresource{
				{name: "binding", verbs: []string{"create"}, bodies: []string{
					`{apiVersion: v1, kind: Binding, target: {kind: Node, name: n1}}`, `{apiVersion: v1, kind: Binding, metadata: {annotations: {bound: "1"}}, target: {kind: Node, name: n2}}`,
					`{apiVersion: v1, kind: Binding, target: {kind: Node}}`, `{apiVersion: v1, kind: Binding, target: {kind: Pod, name: n1}}`}},
				{name: "eviction", verbs: []string{"create"}, bodies: []string{
					`{apiVersion: policy/v1, kind: Eviction, metadata: {name: a}}`, `{apiVersion: policy/v1, kind: Eviction, metadata: {name: b}, deleteOptions: {gracePeriodSeconds: 0}}`,
					`{apiVersion: policy/v1, kind: Eviction, metadata: {name: a}, deleteOptions: {dryRun: [All]}}`}},
				{name: "ephemeralcontainers", verbs: []string{"get", "patch"}, fields: []choice{
					{"spec.ephemeralContainers", `[[{name: e, image: "i:1"}], [{name: f, image: "i:1", targetContainerName: c}], [{name: c, image: i}]]`}, {"spec.restartPolicy", `[Never]`}}},
				{name: "resize", verbs: []string{"get", "patch"}, fields: []choice{
					{"spec.containers", `[[{name: c, resources: {requests: {cpu: 100m}}}], [{name: c, resources: {limits: {cpu: "1", memory: 1Gi}}}], [{name: d, image: i}]]`}, {"spec.restartPolicy", `[Never]`}}},
				{name: "nope", verbs: []string{"get", "create", "update"}, bodies: []string{`{}`}},
			},
			selectors: []string{"spec.nodeName=n1", "status.phase=Running", "status.phase!=Pending", "spec.restartPolicy=Always", "spec.nodeName=", "metadata.name=a,status.phase=Pending", "spec.bogus=1"},
		},
		{
			resource: "v1/services", apiVersion: "v1", name: "Service", weight: 8, base: `{spec: {ports: [{port: 80}]}}`,
			fields: []choice{
				{"spec.type", `[ClusterIP, NodePort, LoadBalancer, ExternalName, Bad]`}, {"spec.clusterIP", `[None, "", "bad", 10.99.0.1]`},
				{"spec.ports", `[[{port: 80}], [{port: 80, name: a}, {port: 81, name: b, targetPort: web}], [{port: 80, protocol: UDP, targetPort: 8080}], [{port: 80}, {port: 81}], [], [{port: 0}], [{port: 80, name: a}, {port: 80, name: b}], [{port: 80, appProtocol: http}]]`},
				{"spec.selector", `[{app: a}, {app: b}, {}, null]`}, {"spec.sessionAffinity", `[ClientIP, None, Bad]`}, {"spec.sessionAffinityConfig", `[{clientIP: {timeoutSeconds: 5}}, null]`},
				{"spec.externalTrafficPolicy", `[Local, Cluster]`}, {"spec.internalTrafficPolicy", `[Local, Cluster, Bad]`}, {"spec.externalName", `[example.com, "Bad!"]`}, {"spec.externalIPs", `[[1.2.3.4], [bad]]`},
				{"spec.ipFamilyPolicy", `[SingleStack, PreferDualStack, RequireDualStack]`}, {"spec.ipFamilies", `[[IPv4], [IPv6]]`}, {"spec.publishNotReadyAddresses", `[true]`},
				{"spec.loadBalancerIP", `[1.2.3.4]`}, {"spec.allocateLoadBalancerNodePorts", `[false, true]`}, {"spec.loadBalancerSourceRanges", `[[1.2.3.0/24], [bad]]`}, {"spec.trafficDistribution", `[PreferClose, Bad]`},
			},
			status: []choice{{"status.loadBalancer", `[{ingress: [{ip: 1.2.3.4}]}, {ingress: [{hostname: h}]}, {}]`}, {"status.conditions", `[[{type: T, status: "True", reason: R, message: "", lastTransitionTime: "2024-01-01T00:00:00Z"}]]`},
				{"spec.type", `[NodePort]`}},
			selectors: []string{"spec.type=ClusterIP", "spec.clusterIP=None", "spec.type!=NodePort"},
		},
		{
			resource: "v1/namespaces", apiVersion: "v1", name: "Namespace", weight: 3, cluster: true, base: `{}`,
			fields:       []choice{{"spec.finalizers", `[[kubernetes], [example.com/f, kubernetes], []]`}},
			status:       []choice{{"status.phase", `[Active, Terminating]`}, {"status.conditions", `[[{type: T, status: "True"}]]`}},
			subresources: []subresource{{name: "finalize", verbs: []string{"update"}, fields: []choice{{"spec.finalizers", `[[], [kubernetes], [example.com/f]]`}}}},
			selectors:    []string{"status.phase=Active", "status.phase!=Active"},
		},
		{
			resource: "coordination.k8s.io/v1/leases", apiVersion: "coordination.k8s.io/v1", name: "Lease", weight: 6, base: `{spec: {holderIdentity: h1, leaseDurationSeconds: 15}}`,
			fields: []choice{
				{"spec.holderIdentity", `[h1, h2, "", null]`}, {"spec.leaseDurationSeconds", `[15, 1, 0, -1, null]`}, {"spec.leaseTransitions", `[0, 1, -1]`},
				{"spec.renewTime", `["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:01.500000Z", "2024-01-01T00:00:00Z", null]`}, {"spec.acquireTime", `["2024-01-01T00:00:00.000000Z"]`},
				{"spec.strategy", `[OldestEmulationVersion, x]`}, {"spec.preferredHolder", `[h2]`},
			},
		},
		{
			resource: "discovery.k8s.io/v1/endpointslices", apiVersion: "discovery.k8s.io/v1", name: "EndpointSlice", weight: 6, base: `{addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}`,
			fields: []choice{
				{"addressType", `[IPv4, IPv6, FQDN, Bad, null]`}, {"ports", `[[{port: 80}], [{name: a, port: 80, protocol: UDP}, {name: b, port: 81, appProtocol: http}], [{}], [{port: 0}], [{name: "Bad!", port: 1}], null, [{port: 1}, {port: 2}]]`},
				{"endpoints", `[[{addresses: [10.1.2.3], conditions: {ready: true}}], [{addresses: [10.1.2.3, 10.1.2.4], nodeName: n1, zone: z, hostname: h}], [{addresses: []}], [{addresses: [bad]}], [], null, [{addresses: ["fd00::1"]}], [{addresses: [10.1.2.3], targetRef: {kind: Pod, name: a}, conditions: {ready: false, serving: true, terminating: true}}]]`},
			},
		},
		{
			resource: "fidelity.example.com/v1/things", apiVersion: "fidelity.example.com/v1", name: "Thing", weight: 8, custom: true, base: `{spec: {size: 1}}`,
			fields: []choice{
				{"spec.size", `[1, 2, 10, 0, 11, "x", null, 1.5]`}, {"spec.mode", `[fast, slow, bad, ""]`}, {"spec.list", `[[a], [a, b], [], null, [a, a]]`}, {"spec.items", `[[{name: a, value: 1}], [{name: a}, {name: b, value: 2}], [{name: a}, {name: a}], [{value: 1}]]`},
				{"spec.unknown", `[1, {a: b}]`}, {"spec.free", `[{a: 1, b: {c: []}}, {}, null]`}, {"spec.min", `[1, 5]`}, {"spec.max", `[3, 9]`}, {"spec", `[{}, null, text]`}, {"spec.when", `["2024-01-01T00:00:00Z", "bad"]`},
				{"spec.nested", `[{}, {on: true}, {on: "x"}]`}, {"status", `[{ready: true}, {bogus: 1}]`}, {"spec.amount", `["5", 5, "1.5Gi", true]`},
			},
			status:       []choice{{"status.ready", `[true, false, "x"]`}, {"status.phase", `[A, B]`}, {"status.conditions", `[[{type: T, status: "True"}], [{type: T, status: "False"}, {type: U, status: "True"}], [{status: x}]]`}, {"spec.size", `[5]`}, {"status.bogus", `[1]`}},
			subresources: []subresource{{name: "scale", verbs: []string{"get", "update", "patch"}, fields: []choice{{"spec.replicas", `[0, 1, 3, -1, "x"]`}}}},
			selectors:    []string{"metadata.name=a", "spec.mode=fast", "spec.mode!=fast", "spec.size=1"},
		},
		{
			resource: "apps/v1/deployments", apiVersion: "apps/v1", name: "Deployment", weight: 6, base: `{spec: {selector: {matchLabels: {app: a}}, template: ` + podTemplate + `}}`,
			fields: append([]choice{
				{"spec.replicas", `[0, 1, 3, -1, "x", null]`}, {"spec.strategy", `[{type: Recreate}, {type: RollingUpdate}, {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}, {type: Recreate, rollingUpdate: {maxSurge: 1}}, {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}, {rollingUpdate: {maxSurge: "50%"}}]`},
				{"spec.minReadySeconds", `[0, 5, -1]`}, {"spec.revisionHistoryLimit", `[3, -1]`}, {"spec.progressDeadlineSeconds", `[60, 5]`}, {"spec.paused", `[true, false]`}, {"spec.selector", `[{matchLabels: {app: b}}, null, {}]`},
			}, templateFields("spec.template")...),
			status:       []choice{{"status.replicas", `[0, 1, -1]`}, {"status.observedGeneration", `[1, 0]`}, {"status.readyReplicas", `[1, 5]`}, {"status.conditions", `[[{type: Available, status: "True"}]]`}, {"spec.replicas", `[9]`}},
			subresources: []subresource{{name: "scale", verbs: []string{"get", "update", "patch"}, fields: []choice{{"spec.replicas", `[0, 1, 3, -1, "x"]`}, {"metadata.labels", `[{x: "y"}]`}}}},
		},
		{
			resource: "apps/v1/statefulsets", apiVersion: "apps/v1", name: "StatefulSet", weight: 2, base: `{spec: {selector: {matchLabels: {app: a}}, serviceName: s, template: ` + podTemplate + `}}`,
			fields: append([]choice{{"spec.replicas", `[0, 2, -1]`}, {"spec.serviceName", `[t, ""]`}, {"spec.podManagementPolicy", `[Parallel, Bad]`}, {"spec.updateStrategy", `[{type: OnDelete}, {rollingUpdate: {partition: 1}}, {type: Bad}]`},
				{"spec.persistentVolumeClaimRetentionPolicy", `[{whenDeleted: Delete}]`}, {"spec.ordinals", `[{start: 1}]`}, {"spec.minReadySeconds", `[3]`},
				{"spec.volumeClaimTemplates", `[[{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]]`}}, templateFields("spec.template")...),
			status:       []choice{{"status.replicas", `[1]`}, {"status.currentRevision", `[r]`}},
			subresources: []subresource{{name: "scale", verbs: []string{"get", "patch"}, fields: []choice{{"spec.replicas", `[0, 2]`}}}},
		},
		{
			resource: "apps/v1/daemonsets", apiVersion: "apps/v1", name: "DaemonSet", weight: 1, base: `{spec: {selector: {matchLabels: {app: a}}, template: ` + podTemplate + `}}`,
			fields: append([]choice{{"spec.updateStrategy", `[{type: OnDelete}, {rollingUpdate: {maxUnavailable: 2}}, {rollingUpdate: {maxSurge: 1}}]`}, {"spec.minReadySeconds", `[3]`}, {"spec.revisionHistoryLimit", `[2]`}}, templateFields("spec.template")...),
			status: []choice{{"status.numberReady", `[1]`}, {"status.desiredNumberScheduled", `[1]`}},
		},
		{
			resource: "batch/v1/jobs", apiVersion: "batch/v1", name: "Job", weight: 3, base: `{spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "i:1"}]}}}}`,
			fields: []choice{{"spec.parallelism", `[0, 2, -1]`}, {"spec.completions", `[1, 3]`}, {"spec.backoffLimit", `[0, 2]`}, {"spec.suspend", `[true, false]`}, {"spec.completionMode", `[Indexed, Bad]`}, {"spec.ttlSecondsAfterFinished", `[5]`}, {"spec.activeDeadlineSeconds", `[5]`},
				{"spec.template.spec.restartPolicy", `[OnFailure, Always]`}, {"spec.manualSelector", `[true]`}, {"spec.podFailurePolicy", `[{rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}]`}, {"spec.podReplacementPolicy", `[Failed, TerminatingOrFailed]`}},
			status:    []choice{{"status.active", `[1]`}, {"status.succeeded", `[1]`}, {"status.startTime", `["2024-01-01T00:00:00Z"]`}},
			selectors: []string{"status.successful=0", "status.successful=1"},
		},
		{
			resource: "batch/v1/cronjobs", apiVersion: "batch/v1", name: "CronJob", weight: 1, base: `{spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "i:1"}]}}}}}}`,
			fields: []choice{{"spec.schedule", `["0 * * * *", "bad", ""]`}, {"spec.concurrencyPolicy", `[Forbid, Bad]`}, {"spec.suspend", `[true]`}, {"spec.timeZone", `[Etc/UTC]`}, {"spec.startingDeadlineSeconds", `[5, -1]`}, {"spec.successfulJobsHistoryLimit", `[0, -1]`}},
			status: []choice{{"status.lastScheduleTime", `["2024-01-01T00:00:00Z"]`}},
		},
		{
			resource: "v1/events", apiVersion: "v1", name: "Event", weight: 2, base: `{involvedObject: {kind: Pod, name: a, namespace: "${ns}"}, reason: R, message: m, type: Normal}`,
			fields: []choice{{"reason", `[S, ""]`}, {"type", `[Warning, Bad, ""]`}, {"count", `[1, 2]`}, {"message", `[n, ""]`}, {"involvedObject.namespace", `[other, ""]`}, {"source", `[{component: c}]`}, {"lastTimestamp", `["2024-01-01T00:00:00Z"]`},
				{"eventTime", `["2024-01-01T00:00:00.000000Z"]`}, {"reportingComponent", `[example.com/c]`}, {"reportingInstance", `[i]`}, {"action", `[A]`}, {"series", `[{count: 2, lastObservedTime: "2024-01-01T00:00:00.000000Z"}]`}},
			selectors: []string{"involvedObject.name=a", "reason=R,type=Normal", "type!=Normal"},
		},
		{
			resource: "v1/persistentvolumeclaims", apiVersion: "v1", name: "PersistentVolumeClaim", weight: 2, base: `{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
			fields: []choice{{"spec.accessModes", `[[ReadWriteMany], [], [Bad]]`}, {"spec.resources", `[{requests: {storage: 2Gi}}, {requests: {storage: 512Mi}}, {}]`}, {"spec.storageClassName", `[fast, ""]`}, {"spec.volumeMode", `[Block, Bad]`}, {"spec.volumeName", `[pv1]`}, {"spec.selector", `[{matchLabels: {a: b}}]`}},
			status: []choice{{"status.phase", `[Bound, Lost]`}, {"status.capacity", `[{storage: 1Gi}]`}},
		},
		{
			resource: "v1/limitranges", apiVersion: "v1", name: "LimitRange", weight: 3, alone: true, with: []string{"v1/pods", "v1/pods", "v1/persistentvolumeclaims"},
			base: `{spec: {limits: [{type: Container, default: {cpu: 500m}}]}}`,
			fields: []choice{{"spec.limits", `[[{type: Container, default: {cpu: 500m, memory: 256Mi}, defaultRequest: {cpu: 100m}}], [{type: Container, max: {cpu: "1"}}, {type: Pod, max: {cpu: "1"}}],
				[{type: Container, min: {cpu: 600m}}], [{type: Container, maxLimitRequestRatio: {cpu: "1"}}], [{type: Pod, min: {memory: 1Gi}}], [{type: PersistentVolumeClaim, max: {storage: 1Gi}}], [{type: PersistentVolumeClaim, min: {storage: 1Gi}}],
				[{type: PersistentVolumeClaim}], [{type: Bad}], [{type: Pod, default: {cpu: 1}}], [{type: Container, min: {cpu: 2}, max: {cpu: 1}}], [{type: Container}, {type: Container}], [{type: Container, max: {bogus: 1}}], [], null]`}},
		},
		{
			resource: "v1/resourcequotas", apiVersion: "v1", name: "ResourceQuota", weight: 3, alone: true,
			with: []string{"v1/pods", "v1/pods", "v1/services", "v1/configmaps", "v1/secrets", "v1/persistentvolumeclaims", "apps/v1/deployments"},
			base: `{spec: {hard: {pods: "1"}}}`,
			fields: []choice{
				{"spec.hard", `[{pods: "2"}, {requests.cpu: "1"}, {"count/configmaps": "1"}, {services.nodeports: "1"}, {requests.storage: 1Gi}, {pods: "-1"}, {pods: "1.5"}, {bogus: "1"}, {"bad key!": "1"}, {}, null]`},
				{"spec.scopes", `[[BestEffort], [NotBestEffort], [Terminating], [Bad], [BestEffort, NotBestEffort], []]`},
			},
			status: []choice{
				{"status", `[{hard: {pods: "1"}, used: {pods: "0"}}, {hard: {pods: "2", requests.cpu: "1"}, used: {pods: "0", requests.cpu: "0"}}, {hard: {services.nodeports: "1"}, used: {services.nodeports: "0"}},
					{hard: {"count/configmaps": "1", "count/secrets": "1", "count/deployments.apps": "1"}, used: {"count/configmaps": "0", "count/secrets": "0", "count/deployments.apps": "0"}},
					{hard: {persistentvolumeclaims: "1", requests.storage: 1Gi}, used: {persistentvolumeclaims: "0", requests.storage: 500Mi}}, {hard: {pods: "1"}}, {hard: {pods: "-1"}, used: {pods: "-1"}}]`},
				{"status.used", `[{pods: "0"}, {bogus: "1"}, null]`},
			},
		},
		{
			resource: "v1/serviceaccounts", apiVersion: "v1", name: "ServiceAccount", weight: 1, base: `{}`,
			fields: []choice{{"secrets", `[[{name: s}], []]`}, {"imagePullSecrets", `[[{name: s}]]`}, {"automountServiceAccountToken", `[false]`}},
		},
		{
			resource: "rbac.authorization.k8s.io/v1/roles", apiVersion: "rbac.authorization.k8s.io/v1", name: "Role", weight: 2, base: `{rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			fields: []choice{{"rules", `[[], null, [{apiGroups: [apps], resources: [deployments], resourceNames: [a], verbs: ["*"]}], [{verbs: [get]}], [{apiGroups: [""], resources: [pods], verbs: []}], [{nonResourceURLs: [/x], verbs: [get]}]]`}},
		},
		{
			resource: "rbac.authorization.k8s.io/v1/rolebindings", apiVersion: "rbac.authorization.k8s.io/v1", name: "RoleBinding", weight: 2, base: `{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}]}`,
			fields: []choice{{"subjects", `[[{kind: ServiceAccount, name: sa, namespace: x}], [{kind: Group, name: g}], [], null, [{kind: Bad, name: g}], [{kind: ServiceAccount, name: sa}]]`}, {"roleRef.name", `[b, ""]`}, {"roleRef.kind", `[ClusterRole, Bad]`}},
		},
		{
			resource: "policy/v1/poddisruptionbudgets", apiVersion: "policy/v1", name: "PodDisruptionBudget", weight: 2, base: `{spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}}`,
			fields: []choice{{"spec.minAvailable", `["50%", 0, -1, "x"]`}, {"spec.maxUnavailable", `[1, "10%"]`}, {"spec.selector", `[{}, null, {matchLabels: {app: b}}]`}, {"spec.unhealthyPodEvictionPolicy", `[AlwaysAllow, Bad]`}},
			status: []choice{{"status.disruptionsAllowed", `[1]`}, {"status.observedGeneration", `[1]`}, {"status.currentHealthy", `[2]`}},
		},
		{
			resource: "autoscaling/v2/horizontalpodautoscalers", apiVersion: "autoscaling/v2", name: "HorizontalPodAutoscaler", weight: 1, base: `{spec: {scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}, maxReplicas: 3}}`,
			fields: []choice{{"spec.minReplicas", `[1, 5, 0]`}, {"spec.maxReplicas", `[4, 0]`}, {"spec.metrics", `[[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}], []]`}},
			status: []choice{{"status.currentReplicas", `[1]`}, {"status.desiredReplicas", `[1]`}},
		},
		{
			resource: "networking.k8s.io/v1/ingresses", apiVersion: "networking.k8s.io/v1", name: "Ingress", weight: 1, base: `{spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`,
			fields: []choice{{"spec.ingressClassName", `[c]`}, {"spec.rules", `[[{host: h.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {name: web}}}}]}}], [{host: "Bad!"}], [{http: {paths: [{path: x, pathType: Exact, backend: {service: {name: s, port: {number: 1}}}}]}}]]`}, {"spec.tls", `[[{hosts: [h.example.com], secretName: s}]]`}, {"spec.defaultBackend", `[null]`}},
			status: []choice{{"status.loadBalancer", `[{ingress: [{ip: 1.2.3.4}]}]`}},
		},
		{
			resource: "networking.k8s.io/v1/networkpolicies", apiVersion: "networking.k8s.io/v1", name: "NetworkPolicy", weight: 1, base: `{spec: {podSelector: {}}}`,
			fields: []choice{{"spec.policyTypes", `[[Ingress], [Egress, Ingress], [Bad]]`}, {"spec.ingress", `[[{from: [{podSelector: {}}], ports: [{port: 80}]}], [], [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}], [{from: [{}]}]]`}, {"spec.egress", `[[{to: [{namespaceSelector: {}}]}], [{}]]`}},
		},
	}
}

// thingDefinition is the custom resource of the generated calls.
const thingDefinition = `{
apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.fidelity.example.com},
spec: {group: fidelity.example.com, scope: Namespaced, names: {plural: things, kind: Thing, shortNames: [th]},
  versions: [{name: v1, served: true, storage: true,
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}},
    selectableFields: [{jsonPath: .spec.mode}],
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {
        size: {type: integer, minimum: 1, maximum: 10}, mode: {type: string, enum: [fast, slow], default: fast},
        list: {type: array, x-kubernetes-list-type: set, items: {type: string}},
        items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, value: {type: integer, default: 7}}}},
        free: {type: object, x-kubernetes-preserve-unknown-fields: true}, min: {type: integer}, max: {type: integer}, when: {type: string, format: date-time},
        nested: {type: object, properties: {on: {type: boolean, default: false}}}, amount: {x-kubernetes-int-or-string: true}},
        x-kubernetes-validations: [{rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: min must not be greater than max}]},
      status: {type: object, properties: {ready: {type: boolean}, phase: {type: string}, replicas: {type: integer},
        conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type, status], properties: {type: {type: string}, status: {type: string}}}}}}}}}}]}}`
