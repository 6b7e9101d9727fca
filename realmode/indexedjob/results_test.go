package indexedjob

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// cluster has the namespace ci.
func cluster(t *testing.T) client.Client {
	t.Helper()
	c := apiclient.New(apiserver.New(apiserver.Options{}), scheme.Scheme)
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ci"}}); err != nil {
		t.Fatal(err)
	}
	return c
}

var key = client.ObjectKey{Namespace: "ci", Name: "j"}

// random is a result that cannot be told from its parts.
func random(size int) []byte {
	r := rand.NewChaCha8([32]byte{byte(size)})
	b := make([]byte, size)
	_, _ = r.Read(b) // which never fails
	return b
}

// TestResultsComeBack whole, however many parts they are cut into, and the last that was
// published counts.
func TestResultsComeBack(t *testing.T) {
	c := cluster(t)
	for _, size := range []int{0, 1, partSize, partSize + 1, 3 * partSize, ResultMax, 7} {
		want := random(size)
		if err := Publish(t.Context(), c, key, 3, want); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		got, err := Published(t.Context(), c, key, 3)
		if err != nil || got == nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d come back, error %v", size, len(got), err)
		}
	}
	if got, err := Published(t.Context(), c, key, 4); got != nil || err != nil {
		t.Errorf("of another index %d bytes come back, error %v", len(got), err)
	}
	if err := Publish(t.Context(), c, key, 3, make([]byte, ResultMax+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte too many: %v", err)
	}
}

// TestHalfAResultIsNone: who publishes may be killed at any time, and people may edit.
func TestHalfAResultIsNone(t *testing.T) {
	c, result := cluster(t), random(3*partSize)
	publish := func() {
		t.Helper()
		if err := Publish(t.Context(), c, key, 0, result); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: resultName("j", 0, 0)}}
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got, err := Published(t.Context(), c, key, 0); got != nil || err != nil {
		t.Errorf("without the part that is written last, %d bytes come back, error %v", len(got), err)
	}
	for what, spoil := range map[string]func(m *corev1.ConfigMap) error{
		"a part is gone":       func(*corev1.ConfigMap) error { return c.Delete(t.Context(), resultPart(2)) },
		"a part is edited":     func(m *corev1.ConfigMap) error { m.BinaryData[entry][0]++; return c.Update(t.Context(), m) },
		"the number is edited": func(m *corev1.ConfigMap) error { m.Annotations[partsAnnotation] = "9"; return c.Update(t.Context(), m) },
	} {
		publish()
		m := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ci", Name: resultName("j", 0, 0)}, m); err != nil {
			t.Fatal(err)
		}
		if err := spoil(m); err != nil {
			t.Fatal(err)
		}
		if got, err := Published(t.Context(), c, key, 0); !errors.Is(err, ErrSpoilt) {
			t.Errorf("%s: %d bytes come back, error %v", what, len(got), err)
		}
	}
}

func resultPart(number int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: resultName("j", 0, number)}}
}

func TestParseIndexes(t *testing.T) {
	for text, want := range map[string][]int32{"": nil, "0": {0}, "1,3-5,7": {1, 3, 4, 5, 7}} {
		got, err := parseIndexes(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: error %v (-want +got):\n%s", text, err, d)
		}
	}
	for _, text := range []string{"a", "3-1", "-1", "1,", "1-"} {
		if got, err := parseIndexes(text); !errors.Is(err, errIndexes) {
			t.Errorf("%q is read as %v, error %v", text, got, err)
		}
	}
}

// TestFilesThatDoNotFit are refused before anything is made.
func TestFilesThatDoNotFit(t *testing.T) {
	c := cluster(t)
	j := Job{Namespace: "ci", Name: "j", Image: "i", Indexes: 1, Files: map[string][]byte{"f": make([]byte, filesMax+1)}}
	if err := j.Apply(t.Context(), c); !errors.Is(err, ErrFilesTooLarge) {
		t.Error(err)
	}
	accounts := &corev1.ServiceAccountList{}
	if err := c.List(t.Context(), accounts, client.HasLabels{Label}); err != nil || len(accounts.Items) > 0 {
		t.Errorf("%d accounts were made, error %v", len(accounts.Items), err)
	}
}
