package crd_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

const (
	schemaWithRules = `{scope: Cluster, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
 spec: {type: object, required: [replicas], x-kubernetes-validations: [{rule: self.replicas <= self.most}], properties: {replicas: {type: integer, minimum: 0}, most: {type: integer, default: 10}, image: {type: string, pattern: '^[a-z./:0-9-]+$'},
  ports: {type: array, maxItems: 20, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}, protocol: {type: string, default: TCP, enum: [TCP, UDP]}}}}}},
 status: {type: object, properties: {ready: {type: integer}}}}}}}]}`
	schemaOfNothing = `{scope: Cluster, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}`
)

// BenchmarkCreate creates a custom resource of a kind with a schema and rules, of one
// whose schema lets everything pass, and of one that was registered in Go and has no
// schema.
func BenchmarkCreate(b *testing.B) {
	for name, server := range map[string]func() *apiserver.Server{
		"schema":    func() *apiserver.Server { return things(b, schemaWithRules) },
		"preserved": func() *apiserver.Server { return things(b, schemaOfNothing) },
		"registered": func() *apiserver.Server {
			store := apiserver.NewStore(apiserver.Options{})
			info := apiserver.KindInfo{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}, Cluster: true, Status: true}
			if err := store.Register(info); err != nil {
				b.Fatal(err)
			}
			return apiserver.NewServer(store, "bench")
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := server()
			b.ReportAllocs()
			for i := range b.N + 1 {
				if i == 1 {
					b.ResetTimer() // the first compiles the schema
				}
				u := thing("v1", fmt.Sprintf("t%d", i))
				delete(u.Object, "a")
				u.Object["spec"] = benchSpec()
				if _, err := s.Do(&apiserver.Request{Verb: apiserver.Create, Resource: stored, Object: u, Owned: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchSpec() map[string]any {
	var ports []any
	for i := range 5 {
		ports = append(ports, map[string]any{"name": fmt.Sprint("p", i), "port": int64(8000 + i)})
	}
	return map[string]any{"replicas": int64(3), "image": "registry.example.com/team/app:v1.2.3", "ports": ports}
}
