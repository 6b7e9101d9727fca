package cloak

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
)

// secret draws one of the protected Secrets, as it was at first.
func (h *hostility) secret() SecretConfig { return pick(h.draw, h.config.Secrets) }

// now is how a Secret is at present; ok is false if it is not there, or not protected.
func (s *State) now(c SecretConfig) (_ SecretConfig, ok bool) {
	for i := range s.changed {
		if s.changed[i].Name == c.Name {
			c = s.changed[i]
		}
	}
	var secret corev1.Secret
	err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: c.Name}, &secret)
	return c, err == nil && secret.Labels[cloak.AnnotationSecretEnabled] == "true"
}

// become changes a Secret, and remembers how it is.
func (s *State) become(c SecretConfig) error {
	for i := range s.changed {
		if s.changed[i].Name == c.Name {
			s.changed[i] = c
			return s.putSecret(c)
		}
	}
	s.changed = append(s.changed, c)
	return s.putSecret(c)
}

// heal gives a Secret what it had at first, and takes away what is in the place of its
// shadow.
func (s *State) heal(c SecretConfig) error {
	var squatter corev1.Secret
	err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: shadow.NameOf(c.Name)}, &squatter)
	if err == nil && !shadow.Managed(&squatter) {
		err = s.world.Admin().Delete(context.Background(), &squatter)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look for who has the place of the shadow of Secret %s: %w", c.Name, err)
	}
	return s.become(c)
}

// otherValue is another value than a name stands for: the same characters in another
// order, or another number of them.
func (h *hostility) otherValue(of ValueName) ValueName {
	name, turned := strings.CutSuffix(string(of), "~")
	if h.draw.Intn(3) < 2 {
		if turned {
			return ValueName(name)
		}
		return ValueName(name + "~")
	}
	word, _, sized := strings.Cut(name, "/")
	if sized {
		return ValueName(word)
	}
	return ValueName(fmt.Sprintf("%s/%d", word, pick(h.draw, []int{16, 40, 100})))
}

func harmRotated(h *hostility) (string, error) {
	c, ok := h.now(h.secret())
	if !ok {
		return "", nil
	}
	c.Value = h.otherValue(c.Value)
	return fmt.Sprintf("Secret %s gets the value %s", c.Name, c.Value), h.become(c)
}

func harmMoved(h *hostility) (string, error) {
	c, ok := h.now(h.secret())
	if !ok {
		return "", nil
	}
	first := h.config.Secrets
	switch h.draw.Intn(4) {
	case 0:
		c.Hosts = ""
	case 1:
		c.Port = pick(h.draw, []string{"", "443", "8443", "443/udp"})
	default:
		c.Hosts = pick(h.draw, append([]string{"evil.example.com"}, first[0].Hosts, first[len(first)-1].Hosts))
	}
	return fmt.Sprintf("Secret %s may go to host %q and port %q", c.Name, c.Hosts, c.Port), h.become(c)
}

func harmUnreadable(h *hostility) (string, error) {
	c, ok := h.now(h.secret())
	if !ok {
		return "", nil
	}
	switch h.draw.Intn(3) {
	case 0:
		c.Hosts = strings.Repeat("a", 64) + ".example.com"
	case 1:
		c.Port = "65536"
	default:
		c.Value = "V9/7"
	}
	return fmt.Sprintf("somebody wants Secret %s to have the value %s, host %q and port %q", c.Name, c.Value, c.Hosts, c.Port), h.putSecret(c)
}

func harmDisabled(h *hostility) (string, error) {
	c, ok := h.now(h.secret())
	if !ok {
		return "", nil
	}
	h.later(h.between(time.Second, 3*time.Minute), func() { h.try(h.become(c)) })
	return "somebody takes the label off Secret " + c.Name + " for a while",
		h.edit(c.Name, func(secret *corev1.Secret) { delete(secret.Labels, cloak.AnnotationSecretEnabled) })
}

func harmDeleted(h *hostility) (string, error) {
	c, ok := h.now(h.secret())
	if !ok {
		return "", nil
	}
	h.later(h.between(time.Second, 3*time.Minute), func() { h.try(h.become(c)) })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: c.Name}}
	return "Secret " + c.Name + " is deleted, and made again later", client.IgnoreNotFound(h.world.Admin().Delete(context.Background(), secret))
}

// try is for what a harm does when it ends. That somebody else was faster is no mistake,
// and makeWell comes after it.
func (h *hostility) try(err error) {
	if err != nil {
		h.world.Say("in vain: %v", err)
	}
}

// shadowOf reads the shadow of a Secret; nil if there is none.
func (h *hostility) shadowOf(name string) *corev1.Secret {
	var sh corev1.Secret
	if err := h.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: shadow.NameOf(name)}, &sh); err != nil || !shadow.Managed(&sh) {
		return nil
	}
	return &sh
}

func harmShadow(h *hostility) (string, error) {
	c := h.secret()
	sh := h.shadowOf(c.Name)
	if sh == nil {
		return "", nil
	}
	switch h.draw.Intn(4) {
	case 0:
		return "the shadow of Secret " + c.Name + " is deleted", h.world.Admin().Delete(context.Background(), sh)
	case 1:
		sh.Data["k"] = []byte("kl--short")
	case 2:
		delete(sh.Labels, cloak.LabelManaged)
	default:
		other := h.secret()
		p := h.placeholderOf(other.Name)
		if p == "" {
			return "", nil
		}
		sh.Data["k"] = []byte(p)
		return "the shadow of Secret " + c.Name + " gets the placeholder of Secret " + other.Name, h.world.Admin().Update(context.Background(), sh)
	}
	return "somebody spoils the shadow of Secret " + c.Name, h.world.Admin().Update(context.Background(), sh)
}

// harmSquatted puts a Secret of somebody else in the place of a shadow, for a while.
func harmSquatted(h *hostility) (string, error) {
	c := h.secret()
	name := shadow.NameOf(c.Name)
	squatter := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}, Data: map[string][]byte{"theirs": []byte("keep this")}}
	admin := h.world.Admin()
	if sh := h.shadowOf(c.Name); sh != nil {
		if err := admin.Delete(context.Background(), sh); err != nil {
			return "", err
		}
	}
	if err := admin.Create(context.Background(), squatter); err != nil {
		return "", err
	}
	h.foreign[squatter.UID] = name
	h.later(h.between(time.Second, 2*time.Minute), func() {
		delete(h.foreign, squatter.UID)
		h.try(client.IgnoreNotFound(admin.Delete(context.Background(), squatter)))
	})
	return "somebody has a Secret " + name + " of his own", nil
}
