package determinism

// ban refuses names of one package. A name is a package-level identifier or
// Type.Method; a trailing * matches any ending.
type ban struct {
	pkg      string
	names    []string
	except   []string // names that stay allowed; only useful with a *
	rule     Rule
	profiles Profile
	instead  string // what to use
}

// bans is the table of things that are refused by name. The reason of a row
// that is not obvious stands beside it.
var bans = []ban{
	{pkg: "time", names: []string{"Now", "Since", "Until"},
		rule: RuleTime, profiles: anywhere, instead: "Now and Since of the clock.Clock in use"},
	{pkg: "time", names: []string{"Sleep", "After", "NewTimer", "NewTicker", "Tick", "Timer", "Ticker"},
		rule: RuleTime, profiles: anywhere, instead: "clock.Clock.Sleep"},
	{pkg: "time", names: []string{"AfterFunc"},
		rule: RuleTime, profiles: anywhere, instead: "a task of clock.Clock.NewGroup that calls clock.Clock.Sleep"},
	{pkg: "time", names: []string{"Local", "LoadLocation", "Time.Local"}, // what they mean depends on the machine
		rule: RuleHost, profiles: anywhere, instead: "time.UTC"},

	{pkg: "context", names: []string{"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause"},
		rule: RuleTime, profiles: anywhere, instead: "clock.Clock.WithTimeout"},
	{pkg: "context", names: []string{"WithCancel", "WithCancelCause"}, // may start a goroutine
		rule: RuleGo, profiles: Core, instead: "clock.Clock.WithCancel"},
	{pkg: "context", names: []string{"AfterFunc"},
		rule: RuleGo, profiles: anywhere, instead: "a task of clock.Clock.NewGroup"},

	{pkg: "sync", names: []string{"WaitGroup"},
		rule: RuleGo, profiles: Core, instead: "clock.Clock.NewGroup"},
	{pkg: "sync", names: []string{"WaitGroup.Go"},
		rule: RuleGo, profiles: Simulated, instead: "a task of the simulated process"},
	{pkg: "sync", names: []string{"Cond", "NewCond"}, // a task that waits on it never yields
		rule: RuleChannel, profiles: anywhere, instead: "clock.Clock.NewSignal"},
	{pkg: "sync", names: []string{"Map.Range"},
		rule: RuleOrder, profiles: anywhere, instead: "a map under a sync.Mutex, ranged over in sorted order"},
	{pkg: "sync", names: []string{"Pool"}, // what Get returns depends on the garbage collector
		rule: RuleAddress, profiles: Core, instead: "a field that keeps the buffer"},
	{pkg: "golang.org/x/sync/errgroup", names: []string{"*"},
		rule: RuleGo, profiles: anywhere, instead: "clock.Clock.NewGroup"},
	{pkg: "golang.org/x/sync/singleflight", names: []string{"*"},
		rule: RuleGo, profiles: anywhere, instead: "clock.Clock.NewGroup"},

	{pkg: "math/rand", names: []string{"*"}, except: []string{"Rand*", "Source*", "Zipf*", "New", "NewSource", "NewZipf"},
		rule: RuleRandom, profiles: anywhere, instead: "randomness that is handed in"},
	{pkg: "math/rand/v2", names: []string{"*"}, except: []string{"Rand*", "Source*", "PCG*", "ChaCha8*", "Zipf*", "New*"},
		rule: RuleRandom, profiles: anywhere, instead: "randomness that is handed in"},
	{pkg: "crypto/rand", names: []string{"*"},
		rule: RuleRandom, profiles: anywhere, instead: "an io.Reader that is handed in"},
	{pkg: "hash/maphash", names: []string{"*"}, // seeded anew in each process
		rule: RuleRandom, profiles: anywhere, instead: "hash/fnv"},
	{pkg: "k8s.io/apimachinery/pkg/util/rand", names: []string{"*"}, except: []string{"SafeEncodeString"},
		rule: RuleRandom, profiles: anywhere, instead: "randomness that is handed in"},
	{pkg: "k8s.io/apimachinery/pkg/util/uuid", names: []string{"*"},
		rule: RuleRandom, profiles: anywhere, instead: "randomness that is handed in"},
	{pkg: "github.com/google/uuid", names: []string{"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7", "NewDCE*"},
		rule: RuleRandom, profiles: anywhere, instead: "uuid.NewRandomFromReader on an io.Reader that is handed in"},

	// Since Go 1.26 these ignore the reader they are handed and draw on the
	// operating system.
	{pkg: "crypto/ecdsa", names: []string{"GenerateKey", "Sign", "SignASN1", "PrivateKey.Sign"},
		rule: RuleRandom, profiles: anywhere, instead: "a key or signature that is handed in"},
	{pkg: "crypto/ecdh", names: []string{"Curve.GenerateKey"},
		rule: RuleRandom, profiles: anywhere, instead: "Curve.NewPrivateKey on bytes from a reader that is handed in"},
	{pkg: "crypto/rsa", names: []string{"GenerateKey", "GenerateMultiPrimeKey", "EncryptPKCS1v15"},
		rule: RuleRandom, profiles: anywhere, instead: "a key that is handed in"},
	{pkg: "crypto/dsa", names: []string{"GenerateKey"},
		rule: RuleRandom, profiles: anywhere, instead: "a key that is handed in"},
	{pkg: "crypto/mlkem", names: []string{"GenerateKey*", "EncapsulationKey*.Encapsulate"},
		rule: RuleRandom, profiles: anywhere, instead: "a key made from a seed that is handed in"},
	{pkg: "crypto/cipher", names: []string{"NewGCMWithRandomNonce"},
		rule: RuleRandom, profiles: anywhere, instead: "cipher.NewGCM and a nonce from a reader that is handed in"},

	{pkg: "k8s.io/apimachinery/pkg/apis/meta/v1", names: []string{"Now", "NowMicro"},
		rule: RuleTime, profiles: anywhere, instead: "metav1.NewTime(clock.Now())"},
	{pkg: "k8s.io/apimachinery/pkg/util/wait", names: []string{"*"}, except: []string{"Backoff"},
		rule: RuleTime, profiles: Core, instead: "a loop around clock.Clock.Sleep"},
	{pkg: "k8s.io/client-go/util/retry", names: []string{"*"},
		rule: RuleTime, profiles: Core, instead: "a returned error: the work queue retries"},
	{pkg: "k8s.io/client-go/util/workqueue", names: []string{"*"},
		rule: RuleGo, profiles: Core, instead: "a kube.Controller"},
	{pkg: "k8s.io/utils/clock", names: []string{"RealClock*"},
		rule: RuleTime, profiles: anywhere, instead: "a clock.Clock that is handed in"},
	{pkg: "k8s.io/apimachinery/pkg/util/sets", names: []string{"*.UnsortedList", "*.PopAny"},
		rule: RuleOrder, profiles: anywhere, instead: "sets.List"},

	{pkg: "reflect", names: []string{"Value.MapKeys", "Value.MapRange", "Value.Seq", "Value.Seq2"},
		rule: RuleOrder, profiles: Core, instead: "a typed map, ranged over in sorted order"},
	{pkg: "reflect", names: []string{"Select", "ChanOf", "MakeChan", "Value.Send", "Value.Recv", "Value.TrySend", "Value.TryRecv"},
		rule: RuleChannel, profiles: Core, instead: "clock.Clock.NewSignal"},
	{pkg: "reflect", names: []string{"Value.Pointer", "Value.UnsafePointer", "Value.UnsafeAddr"},
		rule: RuleAddress, profiles: Core, instead: "an identity of your own"},
	{pkg: "math", names: []string{"Acos*", "Asin*", "Atan*", "Cbrt", "Cos*", "Erf*", "Exp*", "Gamma", "Hypot", "J0", "J1", "Jn",
		"Lgamma", "Log*", "Pow*", "Sin*", "Tan*", "Y0", "Y1", "Yn"},
		rule: RuleFloat, profiles: anywhere, instead: "integers: it has another last bit on another processor"},
	{pkg: "runtime", names: []string{"SetFinalizer", "AddCleanup"},
		rule: RuleAddress, profiles: anywhere, instead: "an explicit Close"},
	{pkg: "log/slog", names: []string{"Default", "SetDefault", "Debug*", "Info*", "Warn*", "Error*", "Log", "LogAttrs", "With", "New*Handler*"},
		rule: RuleHost, profiles: Core, instead: "the logger of the context (logr.FromContext)"},
	{pkg: "weak", names: []string{"*"},
		rule: RuleAddress, profiles: anywhere, instead: "an explicit life time"},
	{pkg: "runtime", names: []string{"*"}, except: []string{"Error*", "SetFinalizer", "AddCleanup"},
		rule: RuleHost, profiles: Core, instead: "a port"},
}

// importBan refuses a package as a whole.
type importBan struct {
	pkg     string // also everything below it
	except  []string
	rule    Rule
	instead string
}

// coreImportBans keeps core away from the machine. Packages that only compute
// on the same subject stay allowed.
var coreImportBans = []importBan{
	{pkg: "C", rule: RuleHost, instead: "a port bound in realmode"},
	{pkg: "os", rule: RuleHost, instead: "a port bound in realmode"},
	{pkg: "io/ioutil", rule: RuleHost, instead: "a port bound in realmode"},
	{pkg: "net", except: []string{"net/netip", "net/url", "net/http"},
		rule: RuleHost, instead: "net/netip for addresses, a port bound in realmode for sockets"},
	{pkg: "syscall", rule: RuleHost, instead: "a port bound in realmode"},
	{pkg: "golang.org/x/sys", rule: RuleHost, instead: "a port bound in realmode"},
	{pkg: "plugin", rule: RuleHost, instead: "a port bound in realmode"},
	{pkg: "log", except: []string{"log/slog"}, rule: RuleHost, instead: "the logger of the context (logr.FromContext)"},
	{pkg: "k8s.io/klog", rule: RuleHost, instead: "the logger of the context (logr.FromContext)"},
	{pkg: "testing/synctest", rule: RuleGo, instead: "the simulator"},
	{pkg: "unsafe", rule: RuleAddress, instead: "typed values"},
	{pkg: "k8s.io/client-go/kubernetes", rule: RuleHost, instead: "kube.Kube"},
	{pkg: "k8s.io/client-go/rest", rule: RuleHost, instead: "kube.Kube"},
	{pkg: "k8s.io/client-go/informers", rule: RuleHost, instead: "kube.Controller"},
	{pkg: "k8s.io/client-go/tools", rule: RuleHost, instead: "kube.Controller"},
	{pkg: "sigs.k8s.io/controller-runtime/pkg/manager", rule: RuleHost, instead: "kube.Controller"},
	{pkg: "sigs.k8s.io/controller-runtime/pkg/cache", rule: RuleHost, instead: "kube.Reader"},
	{pkg: "sigs.k8s.io/controller-runtime/pkg/builder", rule: RuleHost, instead: "kube.Controller"},
}

// httpNames are the names of net/http that only name things.
var httpNames = []string{"Status*", "Method*", "Header*", "CanonicalHeaderKey"}
