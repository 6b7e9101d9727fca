package encryption_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
)

// reads says what comes of reading a value, and of really opening its bytes, which must
// be the same.
func (l *lab) reads(t *encryption.Transformer, at string, v *encryption.Value) string {
	l.t.Helper()
	stale, _, err := t.Read(at, v)
	got := fmt.Sprintf("stale=%v", stale)
	if err != nil {
		got = err.Error()
	}
	if v == nil || encryption.IsGarbage(err) {
		return got
	}
	text, stale, _, err := t.Open(at, v.Bytes())
	opened := fmt.Sprintf("stale=%v", stale)
	if err != nil {
		opened = err.Error()
	} else if string(text) != "text" {
		opened = "another text"
	}
	l.equal("really opened", opened, got)
	return got
}

func (l *lab) write(t *encryption.Transformer) *encryption.Value {
	l.t.Helper()
	v, err := t.Write(path, []byte("text"))
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// TestWhoReadsWhat: what is sealed by a list of providers, and how another list reads it.
func TestWhoReadsWhat(t *testing.T) {
	const (
		noKey   = "no matching key was found for the provided AES transformer"
		noBox   = "no matching key was found for the provided Secretbox transformer"
		noMatch = "no matching prefix found"
		badGCM  = "cipher: message authentication failed"
		badBox  = "output array was not large enough for encryption"
	)
	for _, c := range []struct{ written, read, want string }{
		{"i", "i", "stale=false"},
		{"i", "c1", noMatch},
		{"i", "c1 i", "stale=true"},
		{"i", "k1 c1 i", "stale=true"},
		{"c1", "c1 i", "stale=false"},
		{"c1", "i c1", "stale=true"}, // identity fails, which keeps nobody from trying
		{"c1", "c2 c1 i", "stale=true"},
		{"c1", "c1x2y c1", "another key of that name, then the right one"},
		{"c1", "c2y1y c11", "another key of that name, then the right one"},
		{"c1", "c2211", "stale=true"}, // the second key of one provider
		{"c1", "c2", noKey},
		{"c1", "g1", noMatch},
		{"c1", "i", noMatch}, // identity is silent about its failure
		{"g1", "g1", "stale=false"},
		{"g1", "g1x", badGCM},
		{"g1", "g1x g1y", badGCM}, // what is said twice is told once
		{"g1", "g1x g1", "stale=true"},
		{"g1", "g1x g2", "[" + badGCM + ", " + noKey + "]"},
		{"s1", "s1", "stale=false"},
		{"s1", "s2", noBox},
		{"s1", "s1x", badBox},
		{"s1", "s1x s1", "stale=true"},
		{"k1", "k1", "stale=false"},
		{"k1", "k2", noMatch},
		{"k1", "k2 k1", "stale=true"},
	} {
		t.Run(c.written+" by "+c.read, func(t *testing.T) {
			l := newLab(t)
			l.plugin("1")
			l.plugin("2")
			v := l.write(l.build(strings.Fields(c.written)...))
			got := l.reads(l.build(strings.Fields(c.read)...), path, v)
			if strings.HasPrefix(c.want, "another key") {
				// Whether CBC notices a wrong key is a matter of luck; here it does.
				c.want = "stale=true"
			}
			l.equal("read", got, c.want)
		})
	}
}

// TestAWrongKeyUnderTheRightName: CBC says that the padding is invalid, but about once in
// 256 times, when garbage comes out.
func TestAWrongKeyUnderTheRightName(t *testing.T) {
	l := newLab(t)
	right, wrong := l.build("c1"), l.build("c1x")
	outcomes := map[string]int{}
	for range 4000 {
		_, _, err := wrong.Read(path, l.write(right))
		if err == nil {
			t.Fatal("a wrong key opens")
		}
		outcomes[err.Error()]++
	}
	if n := outcomes["what was decrypted is no object"]; n < 4 || n > 40 {
		t.Errorf("garbage came out %d times of 4000: %v", n, outcomes)
	}
	if outcomes["invalid PKCS7 data (empty or not padded)"] == 0 || outcomes["invalid padding on input"] == 0 {
		t.Errorf("the errors of CBC: %v", outcomes)
	}
}

// TestMovedValues: what is bound to its place cannot be opened elsewhere.
func TestMovedValues(t *testing.T) {
	for provider, bound := range map[string]bool{"c1": false, "s1": false, "g1": true, "k1": true} {
		l := newLab(t)
		l.plugin("1")
		tr := l.build(provider)
		got := l.reads(tr, "/registry/secrets/kube-system/other", l.write(tr))
		l.equal(provider+" is bound", got != "stale=false", bound)
	}
}

// TestSealedBy is read from the bytes alone.
func TestSealedBy(t *testing.T) {
	for provider, want := range map[string]string{"i": "clear", "c1": "aescbc:1", "g2": "aesgcm:2", "s3": "secretbox:3", "k1": "kms:1_secrets:kek-1"} {
		l := newLab(t)
		l.plugin("1")
		v := l.write(l.build(provider))
		l.equal("when it was written", v.SealedBy().String(), want)
		if v != nil {
			l.equal("from its bytes", encryption.Parse(v.Bytes()).SealedBy(), v.SealedBy())
		}
	}
	l := newLab(t)
	l.equal("in clear", encryption.Parse([]byte("k8s\x00...")) == nil, true)
	l.equal("a torn KMS value", encryption.Parse([]byte("k8s:enc:kms:v2:x:\xff\xff")).SealedBy().String(), "kms:x")
}

// TestResources: which providers a resource has.
func TestResources(t *testing.T) {
	l := newLab(t)
	file := head + element("secrets", "c1") + element("configmaps, secrets", "g2") + element("'*.apps'", "s3") + element("'*.*'", "c4")
	c, err := encryption.ParseConfiguration([]byte(file), false)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := encryption.Build(c, l.surroundings())
	if err != nil {
		t.Fatal(err)
	}
	readers := func(group, resource string) string {
		return fmt.Sprint(ts.Readers(schema.GroupResource{Group: group, Resource: resource}))
	}
	l.equal("mentioned twice", readers("", "secrets"), "[aescbc:1 aesgcm:2]")
	l.equal("mentioned once", readers("", "configmaps"), "[aesgcm:2]")
	l.equal("in a group", readers("apps", "deployments"), "[secretbox:3]")
	l.equal("any other", readers("batch", "jobs"), "[aescbc:4]")
	l.equal("without a configuration", fmt.Sprint(encryption.None().Readers(secrets)), "[clear]")

	c, err = encryption.ParseConfiguration([]byte(head+element("'*.*'", "c1")+element("secrets", "g2")), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = encryption.Build(c, l.surroundings()); err == nil || err.Error() != `resource "secrets" is masked by earlier rule "*.*"` {
		t.Errorf("a resource that is masked: %v", err)
	}
}
