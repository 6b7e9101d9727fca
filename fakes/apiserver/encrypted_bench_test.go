package apiserver_test

import (
	"fmt"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// BenchmarkSealed is what encryption at rest costs: to read a Secret from etcd, to write
// it, and to write it unchanged, so that it is sealed anew by another key.
func BenchmarkSealed(b *testing.B) {
	for _, provider := range []string{"i", "c1", "g1", "k1"} {
		v := newVaulted(b)
		v.plugin("1")
		a, next := v.instance("a"), v.instance("next")
		a.start(configuration(provider, "g2"), false)
		next.start(configuration("g2", provider), false)
		s := benchSecret(0)
		s.Namespace = "default"
		a.create(secrets, s)
		get := a.request(apiserver.Get, secrets, s.Name)
		get.Shared = true
		b.Run("get/"+provider, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.must(get)
			}
		})
		b.Run("update/"+provider, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Labels = map[string]string{"n": fmt.Sprint(i)}
				s.ResourceVersion = ""
				a.must(a.request(apiserver.Update, secrets, s.Name, body(s)))
			}
		})
		turn := []*instance{next, a}
		b.Run("reseal/"+provider, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				by := turn[i%2]
				by.must(by.request(apiserver.Patch, secrets, s.Name, merge(`{}`)))
			}
		})
	}
}

// BenchmarkRotation writes many Secrets unchanged, through three API servers, so that all
// are sealed by another key.
func BenchmarkRotation(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				v := newVaulted(b)
				v.plugin("1")
				var all []*instance
				for i := range 3 {
					all = append(all, v.instance(fmt.Sprint(i)))
					all[i].start(configuration("g1", "k1"), false)
				}
				for i := range n {
					s := benchSecret(i)
					s.Namespace = "default"
					all[i%3].create(secrets, s)
				}
				for _, a := range all {
					a.start(configuration("k1", "g1"), false)
					a.list(secrets)
				}
				b.StartTimer()
				for i := range n {
					all[i%3].must(all[i%3].request(apiserver.Update, secrets, benchSecret(i).Name, body(all[i%3].get(secrets, benchSecret(i).Name))))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/secret")
		})
	}
}
