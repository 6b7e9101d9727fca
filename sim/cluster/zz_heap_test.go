package cluster_test

import (
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

func TestZZHeap(t *testing.T) {
	runtime.MemProfileRate = 256
	c := toyCluster(1000, 1, 0)
	c.Engine().RunUntil(500 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	f, _ := os.Create("/tmp/heap.prof")
	pprof.WriteHeapProfile(f)
	f.Close()
	c.Close()
}
