package disk_test

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/disk"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Replacing a file: with a rename but without a sync, some power failures leave an
// empty file. The seeds find it.
func Example() {
	replace := func(d *disk.Disk, sync bool) {
		_ = d.WriteFile("/conf.tmp", []byte("new"))
		if sync {
			_ = d.Sync("/conf.tmp")
		}
		_ = d.Rename("/conf.tmp", "/conf")
		_ = d.SyncDir("/")
		d.PowerLoss()
	}
	for _, sync := range []bool{false, true} {
		empty := 0
		for seed := range uint64(100) {
			e := engine.New(engine.Config{Source: engine.NewSeed(seed)})
			d := disk.New(e, "node-1", disk.Harsh())
			replace(d, sync)
			if b, _ := d.ReadFile("/conf"); len(b) == 0 {
				empty++
			}
		}
		fmt.Printf("sync %v: a loss is possible: %v\n", sync, empty > 0)
	}
	// Output:
	// sync false: a loss is possible: true
	// sync true: a loss is possible: false
}
