// Package kubetest is the conformance suite of home.Kube: what core/home relies on, of
// the stand-in, of a simulated API server and of a real one.
//
// An implementation comes with a [World] around it, through which the cases make what
// the calls are about:
//
//	kubetest.Run(t, func(t *testing.T) kubetest.World { … })
//
// A World is the cluster as others see it. Each case uses a namespace of its own, so one
// cluster may serve for all of them.
package kubetest
