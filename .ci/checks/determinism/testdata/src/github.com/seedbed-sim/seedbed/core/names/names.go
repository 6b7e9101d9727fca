// Package names uses what core may not name.
package names

import (
	"context"
	"crypto/ecdh"
	"crypto/rand" // the import is allowed: io.Reader values go by other names
	"fmt"
	"io"
	"math"
	insecure "math/rand"
	randv2 "math/rand/v2"
	"net" // want `import of net; use net/netip`
	"net/http"
	"net/netip"
	"os" // want `import of os; use a port bound in realmode \[host\]`
	"reflect"
	"runtime"
	"sync"
	. "time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

var clock = Now // want `use of time.Now; use Now and Since of the clock.Clock in use \[time\]`

//go:linkname nanotime runtime.nanotime // want `go:linkname reaches around every rule of core`
func nanotime() int64

func times(ctx context.Context) {
	Sleep(Second)     // want `use of time.Sleep; use clock.Clock.Sleep`
	_ = Since(Time{}) // want `use of time.Since`
	_ = NewTimer(0)   // want `use of time.NewTimer`
	AfterFunc(0, nil) // want `use of time.AfterFunc; use a task of clock.Clock.NewGroup`
	var t *Ticker     // want `use of time.Ticker`
	_ = t
	_ = Time{}.Local()                                 // want `use of time.Time.Local`
	_, _ = context.WithTimeout(ctx, 0)                 // want `use of context.WithTimeout; use clock.Clock.WithTimeout`
	_, _ = context.WithCancel(ctx)                     // want `use of context.WithCancel; use clock.Clock.WithCancel`
	_, _ = context.WithDeadlineCause(ctx, Time{}, nil) // want `use of context.WithDeadlineCause`
	context.AfterFunc(ctx, nil)                        // want `use of context.AfterFunc`
	_ = context.WithValue(ctx, "k", 1)
	_ = metav1.Now() // want `use of v1.Now; use metav1.NewTime\(clock.Now\(\)\)`
	_ = metav1.NewTime(Time{}.Add(Second))
}

func random(r io.Reader) {
	_ = insecure.Intn(3) // want `use of rand.Intn; use randomness that is handed in \[random\]`
	_ = insecure.New(insecure.NewSource(1)).Intn(3)
	_ = randv2.N(3) // want `use of rand.N; `
	_ = randv2.New(randv2.NewPCG(1, 2)).IntN(3)
	_, _ = io.ReadFull(rand.Reader, nil) // want `use of rand.Reader; use an io.Reader that is handed in`
	_, _ = ecdh.X25519().GenerateKey(r)  // want `use of ecdh.Curve.GenerateKey; use Curve.NewPrivateKey`
	_, _ = ecdh.X25519().NewPrivateKey(nil)
}

func host() {
	_ = os.Getenv("HOME")
	_, _ = net.Dial("tcp", "")
	_ = http.StatusConflict
	_, _ = http.Get("") // want `use of http.Get; use a port bound in realmode`
	_, _ = netip.ParseAddr("")
	runtime.Gosched() // want `use of runtime.Gosched; use a port`
}

func locks() {
	var mu sync.Mutex
	mu.Lock()
	mu.Unlock()
	var once sync.Once
	once.Do(func() {})
	var wg sync.WaitGroup // want `use of sync.WaitGroup; use clock.Clock.NewGroup \[go\]`
	wg.Wait()
	var m sync.Map
	m.Range(nil)    // want `use of sync.Map.Range; use a map under a sync.Mutex`
	var p sync.Pool // want `use of sync.Pool`
	_ = p
	_ = sync.NewCond // want `use of sync.NewCond; use clock.Clock.NewSignal \[channel\]`
}

func conditions(now Time, list *[]metav1.Condition, c metav1.Condition) {
	meta.SetStatusCondition(list, metav1.Condition{Type: "Ready", LastTransitionTime: metav1.NewTime(now)})
	meta.SetStatusCondition(list, metav1.Condition{Type: "Ready"}) // want `meta.SetStatusCondition reads time.Now when`
	meta.SetStatusCondition(list, c)                               // want `meta.SetStatusCondition reads time.Now when`
}

func shown(v reflect.Value, s sets.Set[string]) {
	_ = fmt.Sprintf("%-10p", &s) // want `%p prints an address; print a name \[address\]`
	_ = fmt.Sprintf("100%%pure %v", s)
	_ = v.MapKeys()      // want `use of reflect.Value.MapKeys`
	_ = s.UnsortedList() // want `use of sets.Set.UnsortedList; use sets.List`
	_ = sets.List(s)
}

func floats(a, b, c float64, n int) float64 {
	c += a * b                 // want `some processors round this product and the sum in one step; write float64\(a\*b\) \[float\]`
	c = float64(a*b) + a*b - c // want `some processors round this product`
	_ = n*n + n
	const k = 2.0
	return math.Log(c) + k*k + math.Sqrt(math.Floor(a)) // want `use of math.Log; use integers: it has another last bit`
}
