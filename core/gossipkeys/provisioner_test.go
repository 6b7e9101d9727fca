package gossipkeys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// alphabet is entropy that makes the keys a, b, c, … one after the other.
type alphabet struct{ drawn int }

func (a *alphabet) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte('a' + a.drawn/32)
		a.drawn++
	}
	return len(p), nil
}

var (
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no"))
	errTimeout   = apierrors.NewTimeoutError("slow", 1)
	errInvalid   = apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "x", nil)
)

// failing makes one verb fail.
func failing(verb string, err error) func(string, any) error {
	return func(v string, _ any) error {
		if v == verb {
			return err
		}
		return nil
	}
}

// Section 3 of the specification, row by row. What the provisioner knows shows
// when the Secret is deleted: it restores what it knows, and makes a new key if
// it knows nothing.
func TestEnsureSecretDecisionTable(t *testing.T) {
	const absent = "-"
	for _, tc := range []struct {
		row     string
		data    string // absent, or the content of the entry
		known   string // letters
		before  func(m *memory) func(string, any) error
		calls   string
		wantErr string
		want    string // the data afterwards
		knows   string // letters; a new key is always "a"
	}{
		{row: "1 new install", data: absent, calls: "get create", want: text("a"), knows: "a"},
		{row: "2 deleted", data: absent, known: "KL", calls: "get create", want: text("KL"), knows: "KL"},
		{row: "3 lost the race, knew nothing", data: absent, calls: "get create", want: text("R"), knows: "b",
			before: rivalCreates},
		{row: "3 lost the race, knew keys", data: absent, known: "K", calls: "get create", want: text("R"), knows: "K",
			before: rivalCreates},
		{row: "4 create fails", data: absent, calls: "get create", wantErr: "failed to create Secret", want: absent, knows: "b",
			before: func(*memory) func(string, any) error { return failing("create", errForbidden) }},
		{row: "4 restore fails", data: absent, known: "K", calls: "get create", wantErr: "failed to create Secret", want: absent, knows: "K",
			before: func(*memory) func(string, any) error { return failing("create", errTimeout) }},
		{row: "5 get fails", data: text("U"), known: "K", calls: "get", wantErr: "failed to get Secret", want: text("U"), knows: "K",
			before: func(*memory) func(string, any) error { return failing("get", errTimeout) }},
		{row: "6 adopt", data: text("U"), calls: "get", want: text("U"), knows: "U"},
		{row: "6 adopt what differs", data: text("UV"), known: "K", calls: "get", want: text("UV"), knows: "UV"},
		{row: "6 repeated keys are no fault", data: text("UU"), calls: "get", want: text("UU"), knows: "UU"},
		{row: "7 garbage", data: "garbage", known: "K", calls: "get", wantErr: "holds invalid data", want: "garbage", knows: "K"},
		{row: "7 white space is not nothing", data: "\n", calls: "get", wantErr: "holds invalid data", want: "\n", knows: "a"},
		{row: "7 one bad line", data: text("U") + "x", known: "K", calls: "get", wantErr: "holds invalid data", want: text("U") + "x", knows: "K"},
		{row: "8 empty, knew nothing", data: "", calls: "get update", want: text("a"), knows: "a"},
		{row: "9 emptied", data: "", known: "KL", calls: "get update", want: text("KL"), knows: "KL"},
		{row: "10 update fails", data: "", calls: "get update", wantErr: "failed to add a memberlist key", want: "", knows: "b",
			before: func(*memory) func(string, any) error { return failing("update", errInvalid) }},
		{row: "10 update conflicts", data: "", known: "K", calls: "get update", wantErr: "failed to add a memberlist key",
			want: text("R"), knows: "K", before: rivalFills},
		{row: "10 deleted in between", data: "", known: "K", calls: "get update", wantErr: "failed to add a memberlist key",
			want: absent, knows: "K", before: rivalDeletes},
	} {
		t.Run(tc.row, func(t *testing.T) {
			m := newMemory()
			p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace)
			if tc.known != "" {
				m.putSecret(t, text(tc.known))
				ensure(t, p)
				m.deleteSecret()
			}
			if tc.data != absent {
				m.putSecret(t, tc.data)
			}
			if tc.before != nil {
				m.before = tc.before(m)
			}
			m.calls = nil

			err := p.EnsureSecret(t.Context())

			m.before = nil
			if got := verbs(m.calls); got != tc.calls {
				t.Errorf("calls: %s, want %s", got, tc.calls)
			}
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("error: %v, want %q", err, tc.wantErr)
			}
			if invalid := errors.Is(err, gossipkeys.ErrInvalidData); invalid != (tc.wantErr == "holds invalid data") {
				t.Errorf("error %v wraps ErrInvalidData: %t", err, invalid)
			}
			if diff := cmp.Diff(tc.want, m.data(absent)); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if got := reveal(t, m, p); got != tc.knows {
				t.Errorf("knows %s, want %s", got, tc.knows)
			}
		})
	}
}

func ensure(t *testing.T, p *gossipkeys.Provisioner) {
	t.Helper()
	if err := p.EnsureSecret(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func verbs(calls []string) string {
	var out []string
	for _, c := range calls {
		out = append(out, strings.Fields(c)[0])
	}
	return strings.Join(out, " ")
}

// data is what the entry holds, or absent.
func (m *memory) data(absent string) string {
	s := m.secret()
	if s == nil {
		return absent
	}
	return string(s.Data["keys"])
}

// reveal shows what p knows, by deleting the Secret.
func reveal(t *testing.T, m *memory, p *gossipkeys.Provisioner) string {
	t.Helper()
	m.deleteSecret()
	ensure(t, p)
	ks, err := gossipkeys.ParseKeys(m.secret().Data["keys"])
	if err != nil {
		t.Fatal(err)
	}
	return letters(ks)
}

// once runs a rival's move just before the first call of the verb.
func once(verb string, move func()) func(string, any) error {
	done := false
	return func(v string, _ any) error {
		if v == verb && !done {
			done = true
			move()
		}
		return nil
	}
}

func rivalCreates(m *memory) func(string, any) error {
	return once("create", func() { m.store("secret "+secretKey().String(), rivalSecret()) })
}

func rivalFills(m *memory) func(string, any) error {
	return once("update", func() { m.store("secret "+secretKey().String(), rivalSecret()) })
}

func rivalDeletes(m *memory) func(string, any) error {
	return once("update", m.deleteSecret)
}

func rivalSecret() *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{"keys": []byte(text("R"))}}
	s.Namespace, s.Name, s.UID = namespace, secretKey().Name, "rival"
	return s
}

// The Secret as created: type, label, no owner, one key of 32 bytes.
func TestCreatedSecret(t *testing.T) {
	m := newMemory()
	ensure(t, gossipkeys.NewProvisioner(m, &alphabet{}, namespace))
	s := m.secret()
	if s.Type != corev1.SecretTypeOpaque || len(s.OwnerReferences) != 0 || len(s.Annotations) != 0 {
		t.Errorf("type %q, owners %v, annotations %v", s.Type, s.OwnerReferences, s.Annotations)
	}
	if diff := cmp.Diff(map[string]string{"app": "antrea"}, s.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	ks, err := gossipkeys.ParseKeys(s.Data["keys"])
	if err != nil || len(ks) != 1 || len(ks[0].Bytes()) != 32 || len(s.Data) != 1 {
		t.Errorf("data holds %v, %v", ks, err)
	}
}

func TestProvisionerOptions(t *testing.T) {
	m := newMemory()
	labels := map[string]string{"team": "net"}
	p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace,
		gossipkeys.WithSecret("mine", "ring"), gossipkeys.WithLabels(labels))
	ensure(t, p)
	s := m.objects["secret kube-system/mine"].(*corev1.Secret)
	if s.Labels["team"] != "net" || len(s.Labels) != 1 || len(s.Data["ring"]) == 0 {
		t.Errorf("got labels %v and %d bytes", s.Labels, len(s.Data["ring"]))
	}
	if w := p.Controller().Watches[0]; w.Name != "mine" || w.Namespace != namespace {
		t.Errorf("watches %s/%s", w.Namespace, w.Name)
	}
}

// Scenario 8: everything but the keys is the user's and stays.
func TestFillKeepsEverythingElse(t *testing.T) {
	m := newMemory()
	m.change(t, func(s *corev1.Secret) {
		s.Labels, s.Annotations = map[string]string{"mine": "l"}, map[string]string{"mine": "a"}
		s.Type, s.Data = "example.com/mine", map[string][]byte{"other": []byte("kept")}
	})
	before := m.secret()
	ensure(t, gossipkeys.NewProvisioner(m, &alphabet{}, namespace))
	after := m.secret()
	if string(after.Data["keys"]) != text("a") {
		t.Error("no key was added")
	}
	delete(after.Data, "keys")
	after.ResourceVersion = before.ResourceVersion
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the rest changed (-before +after):\n%s", diff)
	}
}

// Invariant 6: once all is well, any number of calls write nothing.
func TestEnsureSecretIsIdempotent(t *testing.T) {
	m := newMemory()
	p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace)
	for range 5 {
		ensure(t, p)
	}
	if m.writes() != 1 {
		t.Errorf("%d writes, want 1: %v", m.writes(), m.calls)
	}
}

// Scenario 12: the answer to a create is lost, the key is not.
func TestCreateTimesOutButWasApplied(t *testing.T) {
	m := newMemory()
	p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace)
	m.after = failing("create", errTimeout)
	if err := p.EnsureSecret(t.Context()); err == nil {
		t.Fatal("a lost answer is an error")
	}
	m.after = nil
	ensure(t, p)
	if m.writes() != 1 || m.data("-") != text("a") || reveal(t, m, p) != "a" {
		t.Errorf("the key that was written was not adopted: %v", m.calls)
	}
}

// Scenarios 3 and 4: the loser of a race never brings in its own key, neither
// then nor later; it learns the winner's if it is there to be read.
func TestLoserOfTheRace(t *testing.T) {
	m := newMemory()
	winner := gossipkeys.NewProvisioner(m, &alphabet{}, namespace)
	entropy := &alphabet{drawn: 32 * 20} // u, v, …
	loser := gossipkeys.NewProvisioner(m, entropy, namespace)
	m.before = once("create", func() { ensure(t, winner) })
	ensure(t, loser)
	if m.data("-") != text("a") {
		t.Fatalf("the winner's key is gone: %s", m.data("-"))
	}
	m.deleteSecret() // before the loser has read it
	ensure(t, loser)
	if m.data("-") != text("v") {
		t.Errorf("wrote %q: the key of the create that lost, or one it never saw", m.data("-"))
	}

	m.putSecret(t, text("a"))
	ensure(t, loser)
	if got := reveal(t, m, loser); got != "a" {
		t.Errorf("the loser restores %s, want the winner's a", got)
	}
}

// Scenarios 5, 6 and 11: memory is the last valid list that was observed.
func TestMemoryAcrossEdits(t *testing.T) {
	m := newMemory()
	p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace)
	m.putSecret(t, text("K"))
	ensure(t, p)
	m.putSecret(t, "garbage")
	if err := p.EnsureSecret(t.Context()); !errors.Is(err, gossipkeys.ErrInvalidData) || leaks(err.Error(), 'K') != "" {
		t.Errorf("got %v", err)
	}
	m.putSecret(t, text("K"))
	ensure(t, p)
	m.putSecret(t, "garbage")
	m.deleteSecret()
	ensure(t, p)
	if m.data("-") != text("K") {
		t.Error("after garbage and a deletion, the last valid list comes back")
	}
	m.putSecret(t, text("L")) // never observed
	m.deleteSecret()
	ensure(t, p)
	if m.data("-") != text("K") {
		t.Error("a list that was never observed cannot come back")
	}
}

// Sections 1 and 4: how the driver is to run it.
func TestProvisionerController(t *testing.T) {
	p := gossipkeys.NewProvisioner(newMemory(), &alphabet{}, namespace)
	c := p.Controller()
	want := reconcile.Request{NamespacedName: secretKey()}
	if diff := cmp.Diff([]reconcile.Request{want}, c.Start); diff != "" {
		t.Errorf("a missing Secret makes no event (-want +got):\n%s", diff)
	}
	if len(c.Watches) != 1 || c.Watches[0].Name != secretKey().Name || c.Watches[0].Namespace != namespace {
		t.Errorf("watches: %+v", c.Watches)
	}
	if c.Watches[0].Requests != nil || c.Workers > 1 {
		t.Error("all events enqueue the one request, which one worker handles")
	}
	if c.Backoff.Base.String() != "5s" || c.Backoff.Max.String() != "1m0s" {
		t.Errorf("backoff: %+v", c.Backoff)
	}
}

// Invariant 7: invalid data is a terminal error, all else is retried.
func TestReconcileErrors(t *testing.T) {
	m := newMemory()
	p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace)
	m.putSecret(t, "garbage")
	_, err := p.Reconcile(t.Context(), reconcile.Request{})
	if !errors.Is(err, reconcile.TerminalError(nil)) || !errors.Is(err, gossipkeys.ErrInvalidData) {
		t.Errorf("invalid data: %v is not terminal", err)
	}
	m.before = failing("get", errTimeout)
	_, err = p.Reconcile(t.Context(), reconcile.Request{})
	if err == nil || errors.Is(err, reconcile.TerminalError(nil)) || !apierrors.IsTimeout(err) {
		t.Errorf("an error of the API: %v", err)
	}
}

func TestRestoringIsLoudAndNamesNoKey(t *testing.T) {
	m := newMemory()
	var logged strings.Builder
	log := funcr.New(func(_, args string) { fmt.Fprintln(&logged, args) }, funcr.Options{})
	p := gossipkeys.NewProvisioner(m, &alphabet{}, namespace, gossipkeys.WithLogger(log))
	ensure(t, p)
	if strings.Contains(logged.String(), `"error"`) {
		t.Errorf("a new install is no error:\n%s", logged.String())
	}
	m.deleteSecret()
	ensure(t, p)
	m.change(t, func(s *corev1.Secret) { s.Data = nil })
	ensure(t, p)
	if got := strings.Count(logged.String(), `"error"`); got != 2 {
		t.Errorf("%d errors logged, want one per restoration:\n%s", got, logged.String())
	}
	if leaks(logged.String(), 'a') != "" {
		t.Error("the log shows the key")
	}
}

func TestNoEntropyWritesNothing(t *testing.T) {
	m := newMemory()
	p := gossipkeys.NewProvisioner(m, strings.NewReader("too short"), namespace)
	if err := p.EnsureSecret(t.Context()); err == nil || m.writes() != 0 {
		t.Errorf("got %v after %v", err, m.calls)
	}
}
