package encryption

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// management is the key management service outside of the cluster, and what runs of it
// on the nodes.
type management struct {
	vaults   map[string]*kms.Vault // by endpoint and path of the key
	accepted map[string]bool       // credentials that let plugins in
	current  string                // the credential of the day
	issued   int

	credentials []string // that were ever issued

	faults  map[string]kms.Behaviour // of plugins, by node and id; see faultKey
	rotated int

	deadSince, aliveAt map[uint64]time.Duration // of plugins, by the ids of their keys

	broken   int            // how often plugins were broken by chance
	brokenBy map[string]int // which time it was, by the key of the fault

	next checkFault // what befalls the next check
	checks
	looked bool // there was a Pod at the last look
}

// plugin is a KMS plugin on a node.
type plugin struct {
	pluginSpec
	plugin *kms.Plugin
	vault  *kms.Vault

	// file and pod are the name and the content of the manifest of the plugin's own Pod;
	// empty if it runs beside the API server.
	file, pod string
}

// pluginSpec is what a node knows of a plugin that it is to run.
type pluginSpec struct {
	id         uint64
	kms        v1alpha1.KMS
	credential string
}

// brokenImage begins the names of images that cannot be pulled.
const brokenImage = "broken/"

var errDenied = errors.New("permission denied: the credential is not valid")

func (s *State) vault(id v1alpha1.KMSIdentity) *kms.Vault {
	name := id.Endpoint + "/" + id.Namespace + "/" + id.KeyPath
	v := s.kms.vaults[name]
	if v == nil {
		v = kms.NewVault(fmt.Sprintf("kek-%s-1", id.KeyPath))
		s.kms.vaults[name] = v
	}
	return v
}

// pluginsOf are the plugins that a configuration needs, the newest first.
func pluginsOf(secret *corev1.Secret) ([]pluginSpec, error) {
	parsed, err := config.Decode(secret)
	if err != nil {
		return nil, err
	}
	var specs []pluginSpec
	for _, k := range parsed.ReadKeys() {
		if k.Mode != state.KMS || k.KMS == nil {
			continue
		}
		spec := pluginSpec{id: k.ID}
		if err := json.Unmarshal([]byte(k.KMS.Plugin), &spec.kms); err != nil {
			return nil, fmt.Errorf("read the configuration of KMS plugin %d: %w", k.ID, err)
		}
		for _, ref := range state.References(k.KMS.Secrets) {
			spec.credential = string(k.KMS.Secrets[ref].Reveal())
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// open makes a plugin as its spec says.
func (s *State) open(spec pluginSpec) (*plugin, error) {
	p := &plugin{pluginSpec: spec}
	if strings.HasPrefix(p.kms.Plugin.Image, brokenImage) {
		return nil, fmt.Errorf("start KMS plugin %d: %w", spec.id, errImage)
	}
	p.vault = s.vault(p.kms.Identity)
	p.plugin = kms.NewPlugin(p.vault, nil)
	return p, nil
}

var errImage = errors.New("the image cannot be pulled")

// startPlugins starts the plugins of a Pod. The file is that of its manifest if it is
// not the API server's.
func (n *node) startPlugins(file string, m manifest) error {
	for _, spec := range m.plugins {
		p, err := n.state.open(spec)
		if err != nil {
			return err
		}
		if file != "" {
			p.file, p.pod = file, m.raw
		}
		if err := n.node.Sockets().Listen(config.KMSEndpoint(p.id), p.plugin); err != nil {
			return fmt.Errorf("start KMS plugin %d: %w", p.id, err)
		}
		n.plugins = append(n.plugins, p)
		n.state.behave(n, p)
	}
	n.state.followPlugins()
	n.state.changed()
	return nil
}

// beside reports whether a plugin runs beside the API server, in its Pod.
func beside(p *plugin) bool { return p.pod == "" }

// stopPlugins ends some plugins.
func (n *node) stopPlugins(which func(*plugin) bool) {
	n.plugins = slices.DeleteFunc(n.plugins, func(p *plugin) bool {
		if !which(p) {
			return false
		}
		n.node.Sockets().Close(config.KMSEndpoint(p.id))
		return true
	})
	n.state.followPlugins()
}

// anyPlugin stands for all nodes, or all plugins.
const anyPlugin = "*"

// faultKey names a plugin on a node.
func faultKey(node, id string) string { return node + "/" + id }

// behave lets a plugin behave as it should now.
func (s *State) behave(n *node, p *plugin) { p.plugin.Behave(s.behaviour(n, p)) }

// behaviour is how a plugin should behave now.
func (s *State) behaviour(n *node, p *plugin) kms.Behaviour {
	if p.kms.References.Secret != nil && !s.kms.accepted[p.credential] {
		return kms.Outage(errDenied)
	}
	id := fmt.Sprint(p.id)
	for _, key := range []string{faultKey(n.name, id), faultKey(n.name, anyPlugin), faultKey(anyPlugin, id), faultKey(anyPlugin, anyPlugin)} {
		if b, ok := s.kms.faults[key]; ok {
			return b
		}
	}
	return kms.Behaviour{}
}

// behaveAll lets all plugins behave as they should now.
func (s *State) behaveAll() {
	for _, n := range s.nodes {
		for _, p := range n.plugins {
			s.behave(n, p)
			s.disturbed() // people are shown the id that it gives to its key, while it does
		}
	}
	s.followPlugins()
	s.changed()
}

// rotateKEK lets the service seal with another version of a key from now on. Plugins
// see it some time later, each for itself.
func (s *State) rotateKEK(lag func() time.Duration) string {
	s.kms.rotated++
	for _, name := range slices.Sorted(maps.Keys(s.kms.vaults)) {
		v := s.kms.vaults[name]
		v.Rotate(fmt.Sprintf("%s-rotated-%d", v.Current(), s.kms.rotated))
	}
	for _, n := range s.nodes {
		for _, p := range n.plugins {
			s.world.Engine().After(lag(), func(any) {
				p.plugin.Refresh()
				s.changed()
				s.disturbed() // what it seals with is told, even if nobody writes with the key
			}, nil)
		}
	}
	return fmt.Sprintf("rotation %d", s.kms.rotated)
}

// newCredential issues a credential. The one before stays valid unless it is revoked.
func (s *State) newCredential(revoke bool) string {
	if revoke {
		delete(s.kms.accepted, s.kms.current)
	}
	s.kms.issued++
	// No words: what people read may have those.
	s.kms.current = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "credential ", s.kms.issued)))[:40]
	s.kms.accepted[s.kms.current] = true
	s.kms.credentials = append(s.kms.credentials, s.kms.current)
	s.learnSecret(fmt.Sprintf("credential %d", s.kms.issued), []byte(s.kms.current))
	return s.kms.current
}

// kmsFaults are what may be wrong with plugins.
var kmsFaults = map[string]func() kms.Behaviour{
	"down":           func() kms.Behaviour { return kms.Outage(errOut) },
	"status-down":    func() kms.Behaviour { return kms.Outage(errOut, kms.Status) },
	"decrypt-down":   func() kms.Behaviour { return kms.Outage(errOut, kms.Decrypt) },
	"encrypt-down":   func() kms.Behaviour { return kms.Outage(errOut, kms.Encrypt) },
	"unhealthy":      func() kms.Behaviour { return kms.Behaviour{Healthz: "the service is sealed"} },
	"slow":           func() kms.Behaviour { return kms.Behaviour{Latency: 4 * time.Second} },
	"hangs":          func() kms.Behaviour { return kms.Behaviour{Latency: time.Hour} },
	"flip-flop":      func() kms.Behaviour { return kms.Behaviour{StatusKeyID: kms.FlipFlop("", "another")} },
	"other-key":      func() kms.Behaviour { return kms.Behaviour{StatusKeyID: kms.Stale("yesterday")} },
	"wrong-version":  func() kms.Behaviour { return kms.Behaviour{Version: "v1"} },
	"does-not-open":  func() kms.Behaviour { return kms.Behaviour{Decrypted: func([]byte) []byte { return []byte("other") }} },
	"unsealed-again": func() kms.Behaviour { return kms.Behaviour{} },
}

var errOut = errors.New("the service is not available")
