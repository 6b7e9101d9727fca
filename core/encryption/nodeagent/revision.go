package nodeagent

import (
	"context"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
)

// byRevision lets the API server load a revision from files of its own, by a restart,
// when it is the node's turn.
func (a *Agent) byRevision(ctx context.Context, s *sight, cfg *revision) (time.Duration, error) {
	latest, safe := s.policy.Status.LatestRevision, s.policy.Status.MinSafeRevision
	needed, excused := s.plugins(cfg)
	if s.onDisk == latest {
		return a.settle(ctx, s, cfg, needed, excused)
	}
	if s.onDisk == 0 || s.onDisk >= safe { // else what it writes cannot be read by others
		mine, err := a.myTurn(ctx, latest)
		if err != nil || !mine {
			return Poll, err
		}
	}
	if err := a.writeRevision(ctx, latest, cfg); err != nil {
		return 0, err
	}
	m := &manifest{name: s.server.name, pod: s.server.pod.DeepCopy()}
	folder := a.folder(latest)
	if err := m.load(a.cfg.Container, folder, path.Join(folder, configFile), false); err != nil {
		return 0, err
	}
	m.label(latest)
	m.excuse(a.cfg.Container, excused)
	m.gate(a.cfg.GateImage, gateRevision(latest))
	if err := sidecar.Render(&m.pod.Spec, cfg.on, sidecar.Options{Containers: []string{a.cfg.Container}, HostSockets: a.cfg.Sockets, HostData: folder}); err != nil {
		return 0, err
	}
	if err := a.drop(ctx, func(owner string) bool { return strings.HasPrefix(owner, pluginOwner) }); err != nil {
		return 0, err // of the time of reload: two of a plugin would fight for its socket
	}
	_, err := a.writeManifest(ctx, m)
	return Poll, err
}

// settle looks after an API server that has the latest revision on its disk, until it
// has run it for a while.
func (a *Agent) settle(ctx context.Context, s *sight, cfg *revision, needed []uint64, excused bool) (time.Duration, error) {
	latest := s.policy.Status.LatestRevision
	if err := a.writeRevision(ctx, latest, cfg); err != nil { // should somebody have changed it
		return 0, err
	}
	if len(s.server.misled(a.cfg.Container, excused)) > 0 { // a key was given up, or taken back
		m := &manifest{name: s.server.name, pod: s.server.pod.DeepCopy()}
		m.excuse(a.cfg.Container, excused)
		return a.restart(ctx, m, latest, nil)
	}
	revision, ready := s.running()
	if !ready || revision != latest {
		return Poll, nil // until it is, nobody else follows
	}
	if wait := a.untilReady(s); wait > 0 {
		return wait, nil
	}
	if excused {
		if up, err := a.cfg.PluginsUp(ctx, needed); err != nil || !up {
			return Poll, err
		}
	}
	if err := a.pass(ctx); err != nil {
		return 0, err
	}
	return Resync, a.forget(ctx, min(s.policy.Status.MinSafeRevision, latest))
}

// writeRevision writes the files of a revision.
func (a *Agent) writeRevision(ctx context.Context, number int64, cfg *revision) error {
	files, err := sidecar.Files(cfg.Secret, cfg.on)
	if err != nil {
		return err
	}
	whole, err := copied(cfg.Secret)
	if err != nil {
		return err
	}
	files = append(files, sidecar.File{Path: copyFile, Data: whole}, sidecar.File{Path: configFile, Data: cfg.Data[config.Configuration]})
	names := make([]string, len(files))
	for i := range files {
		names[i] = path.Join(a.folder(number), files[i].Path)
	}
	if err := a.remember(ctx, strconv.FormatInt(number, 10), names); err != nil {
		return err
	}
	for i := range files {
		if _, err := a.replace(ctx, names[i], files[i].Data); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the files of revisions before the given one: nobody may load them
// any more, and there are keys in them.
func (a *Agent) forget(ctx context.Context, before int64) error {
	return a.drop(ctx, func(owner string) bool {
		n, err := strconv.ParseInt(owner, 10, 64)
		return err == nil && n < before
	})
}
