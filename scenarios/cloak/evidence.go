package cloak

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

// exchange is one request of a workload, as it was written and as it arrives.
type exchange struct {
	work   *work
	uid    types.UID
	host   string // whose server it reaches
	port   int
	socket *kernel.Socket
	peer   *kernel.Peer // the server
	tap    *kernel.Peer // who watches within the Pod, with the keys of the session
	text   string
	views  []*corev1.SecretList // of the node when it was written
	end    int                  // of the stream
	una    int                  // what the server has
	got    []byte
}

// breaks notes that an observer saw a promise broken.
func (s *State) breaks(property string, err error) {
	if s.breaches[property] == nil {
		s.breaches[property] = err
	}
	s.world.Engine().Touch()
}

// lookInside looks for values in what a Pod holds.
func (s *State) lookInside(w *work) {
	for _, key := range slices.Sorted(maps.Keys(w.env)) {
		if found := s.leaks.Find([]byte(w.env[key])); found != "" {
			s.breaks(valuesStayHidden, fmt.Errorf("the environment of Pod %s holds %s", w.config.Name, found))
		}
	}
}

// watch reads what passes within the Pod, with the keys of the session.
func (s *State) watch(x *exchange, inside []byte) {
	text, err := x.tap.Receive(inside)
	if err != nil {
		s.breaks(recordsStayWhole, fmt.Errorf("within Pod %s a record is broken before it has left: %w", x.work.config.Name, err))
	}
	if found := s.leaks.Find(text); found != "" {
		s.breaks(valuesStayHidden, fmt.Errorf("within Pod %s one can see %s on its way", x.work.config.Name, found))
	}
}

// receive is the server.
func (s *State) receive(x *exchange, wire []byte) {
	text, err := x.peer.Receive(wire)
	if err != nil {
		s.breaks(recordsStayWhole, fmt.Errorf("server %s refuses what Pod %s has sent: %w", x.host, x.work.config.Name, err))
	}
	x.got = append(x.got, text...)
}

// judge looks at what a server has received.
func (s *State) judge(x *exchange) {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !bytes.Contains(x.got, s.values[name]) {
			continue
		}
		owner, why := x.permitted(s.values[name])
		switch {
		case owner == "":
			s.breaks(valuesGoWhereTheyMay, fmt.Errorf("server %s, port %d, has received %s from Pod %s: %s", x.host, x.port, name, x.work.config.Name, why))
		case !slices.Contains(x.work.config.Uses, owner):
			s.breaks(ownSecretsOnly, fmt.Errorf("server %s has received from Pod %s %s of Secret %s, which it does not refer to", x.host, x.work.config.Name, name, owner))
		}
	}
	w := x.work
	if s.complete(x) {
		w.arrived++
		w.inARow++
	} else {
		w.withheld++
		w.inARow = 0
	}
	s.world.Engine().Touch()
}

// complete reports whether each placeholder of the workload's own has been swapped.
func (s *State) complete(x *exchange) bool {
	for _, use := range x.work.config.Uses {
		_, rest, _ := strings.Cut(string(x.got), "X-"+use+": Bearer ")
		arrived, _, _ := strings.Cut(rest, "\r\n")
		known := false
		for _, name := range slices.Sorted(maps.Keys(s.values)) {
			known = known || arrived == string(s.values[name])
		}
		if !known {
			return false
		}
	}
	return true
}

// permitted returns the Secret by whose rule a value may be where it is, as the node knew
// the Secrets when the request was written.
func (x *exchange) permitted(value []byte) (owner, why string) {
	why = "no Secret that the node knew has it"
	for _, view := range x.views {
		for i := range view.Items {
			s := &view.Items[i]
			if s.Labels[cloak.AnnotationSecretEnabled] != "true" || !bytes.Equal(s.Data["k"], value) {
				continue
			}
			hosts, port := s.Annotations[cloak.AnnotationHosts], strings.TrimSuffix(s.Annotations[cloak.AnnotationPort], "/tcp")
			if (hosts == "" || hosts == "*" || hosts == x.host) && (port == "" || port == strconv.Itoa(x.port)) {
				return s.Name, ""
			}
			why = fmt.Sprintf("Secret %s allows %q and port %q", s.Name, hosts, port)
		}
	}
	return "", why
}
