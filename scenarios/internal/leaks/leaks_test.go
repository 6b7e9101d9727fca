package leaks_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// TestEveryWayToShowATokenIsFound shows a token in every way in which it may get into
// a text. The keys of gossip do so for what is bytes.
func TestEveryWayToShowATokenIsFound(t *testing.T) {
	const token = "0123456789abcdef-ghijklmnopqrstuvwxyz-ABCDEFGHIJK"
	var x leaks.Index
	if !x.Empty() || x.Find([]byte(token)) != "" {
		t.Error("an empty index finds something")
	}
	x.AddToken("token", token)
	ways := map[string]string{
		"as it is": token, "quoted": fmt.Sprintf("%q", token), "in Go syntax": fmt.Sprintf("%#v", []string{token}),
		"a part of it":      token[5 : 5+32],
		"in hexadecimal":    hex.EncodeToString([]byte(token)),
		"in base64":         base64.StdEncoding.EncodeToString([]byte(token)),
		"in base64 after 1": base64.StdEncoding.EncodeToString([]byte("x" + token)),
		"in base64 after 2": base64.StdEncoding.EncodeToString([]byte("xy" + token)),
	}
	for how, text := range ways {
		if found := x.Find([]byte("says: " + text + "!")); !strings.HasPrefix(found, "token") {
			t.Errorf("the token is not found %s in %q: %q", how, text, found)
		}
	}
	for _, text := range []string{"", "head.payload.", token[:15], "a piece of a token", strings.ToUpper(token[:20])} {
		if found := x.Find([]byte(text)); found != "" {
			t.Errorf("%s in %q", found, text)
		}
	}
	var asItIs leaks.Index
	asItIs.AddText("signature", token)
	if asItIs.Find([]byte(ways["as it is"])) != "signature" || asItIs.Find([]byte(ways["in hexadecimal"])) != "" {
		t.Error("a text is to be found as it is and in no other form")
	}
}

// coy hides from all printers but one.
type coy struct{ secret string }

func (coy) String() string                 { return "(hidden)" }
func (c coy) MarshalJSON() ([]byte, error) { return json.Marshal(c.secret) }

func TestLogIsRead(t *testing.T) {
	const secret = "0123456789abcdef-ghijklmnopqrstuvwxyz"
	var x leaks.Index
	x.Add("secret", []byte(secret))
	var passed []string
	sink := funcr.New(func(prefix, args string) { passed = append(passed, prefix+args) }, funcr.Options{})
	for name, say := range map[string]func(logr.Logger){
		"message": func(l logr.Logger) { l.Info("it is " + secret) },
		"error":   func(l logr.Logger) { l.Error(errors.New(secret), "fails") },
		"text":    func(l logr.Logger) { l.Info("says", "what", secret) },
		"bytes":   func(l logr.Logger) { l.Info("says", "what", []byte(secret)) },
		"values":  func(l logr.Logger) { l.WithName("n").WithValues("what", secret).Info("says") },
		"coy":     func(l logr.Logger) { l.Info("says", "what", coy{secret}) },
		"key":     func(l logr.Logger) { l.Info("says", secret, 1) },
	} {
		found := ""
		say(leaks.Log(sink, func(line []byte) {
			if piece := x.Find(line); piece != "" {
				found = piece
			}
		}))
		if found == "" {
			t.Errorf("a secret in a %s is not found", name)
		}
	}
	passed = nil
	leaks.Log(sink, func(line []byte) {
		if x.Find(line) != "" {
			t.Errorf("a secret in %q", line)
		}
	}).WithName("a").WithValues("b", 1).Info("c", "d", "e")
	if d := cmp.Diff([]string{`a"level"=0 "msg"="c" "b"=1 "d"="e"`}, passed); d != "" {
		t.Errorf("passed on (-want +got):\n%s", d)
	}
}

// shelf lists one Pod whatever it is asked.
type shelf struct {
	client.Reader
	text string
	err  error
}

func (s shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": s.text}}}}
	}
	return s.err
}

func TestObjectsAreRead(t *testing.T) {
	const secret = "0123456789abcdef-ghijklmnopqrstuvwxyz"
	var x leaks.Index
	x.Add("key", []byte(secret))
	lists := func() []client.ObjectList { return []client.ObjectList{&corev1.NodeList{}, &corev1.PodList{}} }
	if err := leaks.Objects(t.Context(), shelf{text: "nothing"}, &x, lists()...); err != nil {
		t.Error(err)
	}
	err := leaks.Objects(t.Context(), shelf{text: secret}, &x, lists()...)
	if err == nil || err.Error() != "an object in a *v1.PodList shows a piece of the key" {
		t.Errorf("error %v", err)
	}
	down := errors.New("down")
	if err := leaks.Objects(t.Context(), shelf{err: down}, &x, lists()...); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
}

// TestATraceIsRead, record by record, also for what becomes a secret later, and what was
// told before.
func TestATraceIsRead(t *testing.T) {
	const secret = "0123456789abcdef-ghijklmnopqrstuvwxyz"
	var x leaks.Index
	var got []string
	read := leaks.Records(&x, func(where, what string) { got = append(got, where+" "+what) })
	say := func(want int, r engine.Record) {
		t.Helper()
		got = nil
		read(r)
		if len(got) != want {
			t.Errorf("%+v: found %q, want %d", r, got, want)
		}
	}
	open := engine.Record{Actor: "a", Verb: "v", Object: "o", Detail: "says: it is " + secret}
	say(0, open)
	x.Add("secret", []byte(secret))
	say(1, open)
	if len(got) == 1 && got[0] != "the trace of a, where it tells of v, secret" {
		t.Errorf("found %q", got[0])
	}
	say(1, open) // once more
	for range 2 {
		say(0, engine.Record{Detail: "says: it is nothing"})
	}
	say(1, engine.Record{Object: hex.EncodeToString([]byte(secret))})
	say(1, engine.Record{State: base64.StdEncoding.EncodeToString([]byte("x" + secret))})
	say(3, engine.Record{Object: secret, Detail: secret + "!", State: secret + "?"})
}

// TestEntropyIsLearned as it is drawn.
func TestEntropyIsLearned(t *testing.T) {
	var learned string
	b := make([]byte, 4)
	if n, err := leaks.Entropy(strings.NewReader("abcdef"), func(raw []byte) { learned += string(raw) }).Read(b); n != 4 || err != nil || learned != "abcd" || string(b) != learned {
		t.Errorf("read %d, error %v, learned %q", n, err, learned)
	}
}

func TestAnObjectIsRead(t *testing.T) {
	const secret = "0123456789abcdef-ghijklmnopqrstuvwxyz"
	var x leaks.Index
	x.Add("key", []byte(secret))
	pod := &corev1.Pod{}
	if found := leaks.Object(&x, pod); found != "" {
		t.Errorf("found %q in nothing", found)
	}
	pod.Annotations = map[string]string{"a": secret}
	if found := leaks.Object(&x, pod); found != "key" {
		t.Errorf("found %q", found)
	}
}
