package cloak

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/cloak"
)

// breaks notes that an observer saw a promise broken.
func (s *State) breaks(property string, err error) {
	if err != nil && s.breaches[property] == nil {
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
	if err != nil && !x.racing {
		s.breaks(recordsStayWhole, fmt.Errorf("within Pod %s a record is broken before it has left: %w", x.work.config.Name, err))
	}
	if found := s.leaks.Find(text); found != "" {
		s.breaks(valuesStayHidden, fmt.Errorf("within Pod %s one can see %s on its way", x.work.config.Name, found))
	}
}

// compare makes sure that bytes which leave again are what they were.
func (s *State) compare(x *exchange, from int, wire []byte) {
	before := x.left[from:min(len(x.left), from+len(wire))]
	if !bytes.Equal(before, wire[:len(before)]) && !x.racing {
		s.breaks(recordsStayWhole, fmt.Errorf("byte %d and those after it leave Pod %s once as they were written and once with a value", from, x.work.config.Name))
	}
	if len(before) < len(wire) {
		x.left = append(x.left, wire[len(before):]...)
	}
}

// receive is the server.
func (s *State) receive(x *exchange, wire []byte) {
	text, err := x.peer.Receive(wire)
	if err == nil && x.work.config.HTTP2 {
		text, err = x.decode(text)
	}
	if err != nil && !x.racing {
		s.breaks(recordsStayWhole, fmt.Errorf("server %s refuses what Pod %s has sent: %w", x.host, x.work.config.Name, err))
	}
	x.got = append(x.got, text...)
}

// judge looks at what a server has received.
func (s *State) judge(x *exchange) {
	w := x.work
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		value := s.values[name]
		if !bytes.Contains(x.got, value) || x.inTable[string(value)] {
			// An index may stand for a value that the server has got before.
			continue
		}
		owner, why := x.permitted(value)
		switch {
		case owner == nil:
			s.breaks(valuesGoWhereTheyMay, fmt.Errorf("server %s, port %d, has received %s from Pod %s: %s", x.host, x.dialled.Port(), name, w.config.Name, why))
		case !slices.Contains(w.config.Uses, owner.Name):
			s.breaks(ownSecretsOnly, fmt.Errorf("server %s has received from Pod %s %s of Secret %s, which it does not refer to", x.host, w.config.Name, name, owner.Name))
		case w.config.Manner == "pass" || w.config.Manner == "debug":
			s.breaks(ownSecretsOnly, fmt.Errorf("server %s has received %s from a process that may not use Secret %s, over a socket of Pod %s", x.host, name, owner.Name, w.config.Name))
		case restricted(owner) && !s.verified(x.connection):
			s.breaks(socketsSpeakForThemselves, fmt.Errorf("server %s has received %s from Pod %s over a connection to %s that names %q: nothing proves that it is one to the host of Secret %s",
				x.host, name, w.config.Name, x.dialled, x.sni, owner.Name))
		}
		if x.inTable != nil {
			x.inTable[string(value)] = true
		}
	}
	if s.complete(x) {
		w.arrived++
		w.inARow++
	} else {
		w.withheld++
		w.inARow = 0
	}
	s.world.Engine().Touch()
}

// restricted reports whether a Secret may go to one host by its name only.
func restricted(secret *corev1.Secret) bool {
	hosts := secret.Annotations[cloak.AnnotationHosts]
	_, err := netip.ParseAddr(hosts)
	return hosts != "" && hosts != "*" && err != nil
}

// verified reports whether a connection was made by the Pod itself to an address that
// stands for a host and is nobody's real one, and names that host.
func (s *State) verified(c *connection) bool {
	real := s.names.ever[c.dialled.Addr()] || c.dialled.Addr() == evilServer
	return !real && strings.EqualFold(c.sni, c.work.config.Host)
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
// the Secrets when the request was written: it may have known several states of one, and
// gone by any of them. One that is for any host comes first.
func (x *exchange) permitted(value []byte) (owner *corev1.Secret, why string) {
	why = "no Secret that the node knew has it"
	for _, view := range x.views {
		for i := range view.Items {
			s := &view.Items[i]
			if s.Labels[cloak.AnnotationSecretEnabled] != "true" || !bytes.Equal(s.Data["k"], value) {
				continue
			}
			hosts, port := s.Annotations[cloak.AnnotationHosts], strings.TrimSuffix(s.Annotations[cloak.AnnotationPort], "/tcp")
			if (hosts == "" || hosts == "*" || hosts == x.host || hosts == x.dialled.Addr().String()) && (port == "" || port == strconv.Itoa(int(x.dialled.Port()))) {
				if owner = s; !restricted(s) {
					return s, ""
				}
				continue
			}
			why = fmt.Sprintf("Secret %s allows %q and port %q", s.Name, hosts, port)
		}
	}
	return owner, why
}
