package cluster_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/disk"
)

// TestNodeCrashLosesWhatWasNotSynced is the same crash on the disk that a cluster
// has by default and on a perfect one.
func TestNodeCrashLosesWhatWasNotSynced(t *testing.T) {
	tests := []struct {
		name string
		disk disk.Options
		want string
	}{
		{"by default", disk.Options{}, "2000: synced: there, written: lost"},
		{"a perfect disk", disk.Perfect(), "2000: synced: there, written: there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, cluster.Config{Disk: tt.disk}, strikes("disk-lose-names/node-1", 0))
			l.agent(func(ctx context.Context, env *cluster.Env) {
				d := env.Disk()
				if env.Incarnation == 1 {
					l.must(d.WriteFile(ctx, "synced", []byte("x")))
					l.must(d.Sync(ctx, "synced"))
					l.must(d.SyncDir(ctx, "."))
					l.must(d.WriteFile(ctx, "written", []byte("x")))
				} else {
					l.say("synced: %s, written: %s", found(d.ReadFile(ctx, "synced")), found(d.ReadFile(ctx, "written")))
				}
				_ = env.Clock.Sleep(ctx, time.Hour)
			})
			l.at(500*time.Millisecond, func() { l.c.Node("node-1").Restart(500 * time.Millisecond) })
			l.run(time.Minute, tt.want)
		})
	}
}

func found(content []byte, err error) string {
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(content) == 0 {
		return "lost"
	}
	return "there"
}

// TestDiskErrorsAddUp sees that disk errors come on top of what disks are like
// anyway, also on disks that come later, and leave that as it was.
func TestDiskErrorsAddUp(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 2, Disk: disk.Options{WriteError: 10}})
	rates := func() {
		for _, n := range l.c.Nodes() {
			o := n.Disk().Options()
			l.say("%s %d %d", n.Name(), o.WriteError, o.SyncError)
		}
	}
	l.c.Node("node-1").Disk()
	one := l.c.StartFault(cluster.Fault{Kind: "disk-error", Rate: 100})
	rates()
	other := l.c.StartFault(cluster.Fault{Kind: "disk-error", Rate: 1000, Target: "node-2"})
	rates()
	one()
	rates()
	other()
	rates()
	l.run(0,
		"0: node-1 110 100", "0: node-2 110 100",
		"0: node-1 110 100", "0: node-2 1110 1100",
		"0: node-1 10 0", "0: node-2 1010 1000",
		"0: node-1 10 0", "0: node-2 10 0",
	)
}
