package nodeagent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
)

// PluginGrace is how long the plugin of a key stays that the configuration, which the
// API server has loaded, does not have any more: for what was begun before.
const PluginGrace = 10 * time.Minute

// pluginOwner is followed by the id of a key in the index of files, and in the names
// of Pods.
const pluginOwner = "seedbed-kms-plugin-"

// reloadFile is the one that the API server loads again and again.
func (a *Agent) reloadFile() string { return path.Join(a.cfg.Dir, "live", configFile) }

// revisionFile has the number of the revision that is in [Agent.reloadFile], or of one
// before: it is written later.
func (a *Agent) revisionFile() string { return path.Join(a.cfg.Dir, "live", "revision") }

// writeCopy keeps what is in the Secret of a revision, for the node to bring it back.
func (a *Agent) writeCopy(ctx context.Context, revision int64, cfg *corev1.Secret) error {
	whole, err := copied(cfg)
	if err != nil {
		return err
	}
	if err := a.remember(ctx, strconv.FormatInt(revision, 10), []string{a.copyOf(revision)}); err != nil {
		return err
	}
	_, err = a.replace(ctx, a.copyOf(revision), whole)
	return err
}

// byReload lets the API server load a revision from the one file. The plugins that the
// revision needs are well before the file changes; those that it does not need stay
// for a while after it was loaded. Only to let an API server look at the file at all
// it is restarted, when it is the node's turn.
func (a *Agent) byReload(ctx context.Context, s *sight, cfg *revision) (time.Duration, error) {
	keys := sidecar.Keys(cfg.on)
	if err := a.writePlugins(ctx, cfg, keys); err != nil {
		return 0, err
	}
	needed, excused := s.plugins(cfg)
	if up, err := a.cfg.PluginsUp(ctx, needed); err != nil || !up {
		return Poll, err
	}
	latest := s.policy.Status.LatestRevision
	if err := a.writeCopy(ctx, latest, cfg.Secret); err != nil {
		return 0, err
	}
	if _, err := a.replace(ctx, a.reloadFile(), cfg.Data[config.Configuration]); err != nil {
		return 0, err
	}
	if _, err := a.replace(ctx, a.revisionFile(), strconv.AppendInt(nil, latest, 10)); err != nil {
		return 0, err
	}
	m := &manifest{name: s.server.name, pod: s.server.pod.DeepCopy()}
	if err := m.load(a.cfg.Container, path.Dir(a.reloadFile()), a.reloadFile(), true); err != nil {
		return 0, err
	}
	m.label(0)
	m.excuse(a.cfg.Container, excused)
	hash := config.FileHash(cfg.Data[config.Configuration])
	if excused {
		m.loads(hash)
	} else {
		m.loads("")
	}
	m.gate(a.cfg.GateImage, GateRevisionFile+"="+a.revisionFile())
	mountSockets(m.pod, a.cfg.Container, a.cfg.Sockets)
	if same, err := sameManifest(m, s.server); err != nil || !same {
		return a.restart(ctx, m, latest, err)
	}
	if _, ready := s.running(); ready && a.untilReady(s) <= 0 {
		if excused {
			if loaded, err := a.hasLoaded(ctx, hash); err != nil || !loaded {
				return Poll, err
			}
		}
		if err := a.pass(ctx); err != nil {
			return 0, err
		}
	}
	if err := a.forget(ctx, min(s.policy.Status.MinSafeRevision, latest)); err != nil {
		return 0, err
	}
	return a.cleanPlugins(ctx, cfg.Secret, keys)
}

// hasLoaded reports whether the API server says that it has loaded the configuration of
// that hash.
func (a *Agent) hasLoaded(ctx context.Context, hash string) (bool, error) {
	loaded, err := a.cfg.Loaded(ctx)
	if err != nil {
		return false, fmt.Errorf("ask the API server what it has loaded: %w", err)
	}
	return loaded == hash, nil
}

// restart writes another manifest when it is the node's turn.
func (a *Agent) restart(ctx context.Context, m *manifest, revision int64, err error) (time.Duration, error) {
	if err != nil {
		return 0, err
	}
	mine, err := a.myTurn(ctx, revision)
	if err != nil || !mine {
		return Poll, err
	}
	_, err = a.writeManifest(ctx, m)
	return Poll, err
}

// writePlugins lets the kubelet run the plugin of each key in a Pod of its own, so that
// one that comes or goes leaves the others alone.
func (a *Agent) writePlugins(ctx context.Context, cfg *revision, keys []uint64) error {
	files, err := sidecar.Files(cfg.Secret, cfg.on)
	if err != nil {
		return err
	}
	data := path.Join(a.cfg.Dir, "plugins")
	for _, id := range keys {
		owner := pluginOwner + strconv.FormatUint(id, 10)
		mine := slices.DeleteFunc(slices.Clone(files), func(f sidecar.File) bool { return f.KeyID != id })
		name := path.Join(path.Dir(a.cfg.Manifest), owner+".yaml")
		names := []string{name}
		for _, f := range mine {
			names = append(names, path.Join(data, f.Path))
		}
		if err := a.remember(ctx, owner, names); err != nil {
			return err
		}
		for _, f := range mine {
			if _, err := a.replace(ctx, path.Join(data, f.Path), f.Data); err != nil {
				return err
			}
		}
		spec, version, err := sidecar.Alone(cfg.on, id, sidecar.Options{HostSockets: a.cfg.Sockets, HostData: data})
		if err != nil {
			return err
		}
		spec.PriorityClassName = "system-node-critical"
		m := &manifest{name: name, pod: &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: a.cfg.PodNamespace, Name: owner,
				Annotations: map[string]string{"encryption.seedbed.dev/kms-plugin-version": strconv.FormatInt(version, 10)}, // another one is a restart
			},
			Spec: *spec,
		}}
		if _, err := a.writeManifest(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// cleanPlugins removes the plugins that are needed no longer, some time after the API
// server has loaded a configuration without them.
func (a *Agent) cleanPlugins(ctx context.Context, cfg *corev1.Secret, keys []uint64) (time.Duration, error) {
	loaded := config.FileHash(cfg.Data[config.Configuration])
	if has, err := a.hasLoaded(ctx, loaded); err != nil {
		return 0, err
	} else if !has {
		a.spare, a.spareHash = time.Time{}, ""
		return Poll, nil
	}
	if a.spareHash != loaded {
		a.spare, a.spareHash = a.cfg.Clock.Now(), loaded
	}
	if wait := PluginGrace - a.cfg.Clock.Since(a.spare); wait > 0 {
		return min(wait, Resync), nil
	}
	return Resync, a.drop(ctx, func(owner string) bool {
		number, ok := strings.CutPrefix(owner, pluginOwner)
		id, err := strconv.ParseUint(number, 10, 64)
		return ok && err == nil && !slices.Contains(keys, id)
	})
}
