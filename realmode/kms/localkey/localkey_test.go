package localkey_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/localkey"
	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

func now() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600)) }

func changer() *localkey.Changer { return &localkey.Changer{Now: now, Entropy: rand.Reader} }

func newFile(t *testing.T) (name, id string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "key.json")
	id, err := changer().Init(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, id
}

func look(t *testing.T, p *localkey.Provider) string {
	t.Helper()
	id, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestFormat is what is in files that are out there: it stays readable, by the same
// names.
func TestFormat(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key.json")
	entropy := bytes.NewReader([]byte(strings.Repeat("0123456789abcdef", 2) + strings.Repeat("fedcba9876543210", 2)))
	c := &localkey.Changer{Now: now, Entropy: entropy}
	if _, err := c.Init(name); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Rotate(name, true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "kind": "seedbed-kms-key/v1",
  "primary": 1,
  "keys": [
    {
      "version": 1,
      "created": "2030-01-02T02:04:05Z",
      "key": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    },
    {
      "version": 2,
      "created": "2030-01-02T02:04:05Z",
      "key": "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
    }
  ]
}
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	versions, err := localkey.Versions(name)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2030, 1, 2, 2, 4, 5, 0, time.UTC)
	if d := cmp.Diff([]localkey.Version{{ID: ids[0], Created: at, Primary: true}, {ID: ids[1], Created: at}}, versions); d != "" {
		t.Errorf("versions (-want +got):\n%s", d)
	}
	p := localkey.New(name)
	look(t, p)
	text, err := p.Open(t.Context(), ids[0], sealedOnce(t))
	if err != nil || string(text) != "a text of long ago" {
		t.Errorf("what was sealed long ago opens as %q, %v", text, err)
	}
}

// TestSealing binds a ciphertext to its version.
func TestSealing(t *testing.T) {
	name, first := newFile(t)
	p := localkey.New(name)
	if _, err := p.Seal(t.Context(), first, []byte("x")); !errors.Is(err, kms.ErrUnknownKey) {
		t.Errorf("before the file was read: %v", err)
	}
	look(t, p)
	second, err := changer().Rotate(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if id := look(t, p); id != second {
		t.Errorf("seals with %s, want %s", id, second)
	}
	sealed, err := p.Seal(t.Context(), first, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(t.Context(), second, sealed); !errors.Is(err, kms.ErrBroken) {
		t.Errorf("by another version: %v, want %v", err, kms.ErrBroken)
	}
	if _, err := p.Open(t.Context(), "local-v9-0000000000000000", sealed); !errors.Is(err, kms.ErrUnknownKey) {
		t.Errorf("by a version that is not there: %v, want %v", err, kms.ErrUnknownKey)
	}
}

// TestMalformedFiles are refused, without a word of what is in them.
func TestMalformedFiles(t *testing.T) {
	one, two := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")), base64.StdEncoding.EncodeToString([]byte("fedcba9876543210fedcba9876543210"))
	key := func(version int, key string) string { return fmt.Sprintf(`{"version": %d, "key": %q}`, version, key) }
	whole := func(primary int, keys ...string) string {
		return fmt.Sprintf(`{"kind": "seedbed-kms-key/v1", "primary": %d, "keys": [%s]}`, primary, strings.Join(keys, ","))
	}
	for _, c := range []struct{ name, content, want string }{
		{"good", whole(2, key(1, one), key(2, two)), ""},
		{"no JSON", one, "it is no JSON at byte"},
		{"half of it", whole(1, key(1, one))[:40], "a field is unknown or of another type"},
		{"more after it", whole(1, key(1, one)) + "{}", "something follows at its end"},
		{"another kind", strings.Replace(whole(1, key(1, one)), "v1", "v2", 1), `its kind is not "seedbed-kms-key/v1"`},
		{"an unknown field", strings.Replace(whole(1, key(1, one)), `"primary"`, `"`+one+`": 1, "primary"`, 1), "a field is unknown or of another type"},
		{"a key as a number", `{"kind": "seedbed-kms-key/v1", "primary": 1, "keys": [{"version": 1, "key": 12345678}]}`, "a field is unknown or of another type"},
		{"a key that is no base64", whole(1, key(1, "!"+one)), "a field is unknown or of another type"},
		{"no key", whole(1), "there is no key in it"},
		{"a short key", whole(1, key(1, base64.StdEncoding.EncodeToString(make([]byte, 16)))), "the key of version 1 has"},
		{"a long key", whole(1, key(1, base64.StdEncoding.EncodeToString(make([]byte, 33)))), "has 33 bytes instead of 32"},
		{"a key of nothing", whole(1, key(1, base64.StdEncoding.EncodeToString(make([]byte, 32)))), "the key of version 1 is one byte over and over"},
		{"one key twice", whole(1, key(1, one), key(2, one)), "the key of version 2 was that of an earlier version"},
		{"a gap", whole(1, key(1, one), key(3, two)), "version 3 is where version 2 should be"},
		{"another order", whole(1, key(2, one), key(1, two)), "version 2 is where version 1 should be"},
		{"no primary", whole(0, key(1, one)), "its primary version 0 is not in it"},
		{"a primary of the future", whole(2, key(1, one)), "its primary version 2 is not in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "key.json")
			if err := os.WriteFile(name, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := localkey.New(name).Look(t.Context())
			if (c.want == "") != (err == nil) || err != nil && (!errors.Is(err, localkey.ErrMalformed) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), one[:8]) || strings.Contains(err.Error(), "12345678")) {
				t.Errorf("the error shows what is in the file: %v", err)
			}
			if _, rotated := changer().Rotate(name, false); (rotated == nil) != (err == nil) {
				t.Errorf("rotate: %v", rotated)
			}
		})
	}
}

// TestAnotherFile is not taken for the one that was there, whatever it lacks.
func TestAnotherFile(t *testing.T) {
	name, _ := newFile(t)
	one, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	id, err := changer().Rotate(name, false)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := localkey.New(name)
	look(t, p)
	other, _ := newFile(t)
	if _, err := changer().Rotate(other, false); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		content []byte
		is      error
	}{
		"the one of before":    {one, localkey.ErrOtherFile},
		"a foreign one":        {foreign, localkey.ErrOtherFile},
		"an older primary":     {bytes.Replace(two, []byte(`"primary": 2`), []byte(`"primary": 1`), 1), kms.ErrWentBack},
		"the same one":         {two, nil},
		"the same one, longer": {append(bytes.Clone(two), ' '), nil},
	} {
		if err := os.WriteFile(name, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Look(t.Context()); !errors.Is(err, c.is) {
			t.Errorf("%s: error %v, want %v", what, err, c.is)
		}
		sealed, err := p.Seal(t.Context(), id, []byte("text"))
		if err != nil {
			t.Errorf("%s: seal: %v", what, err)
		}
		if _, err := p.Open(t.Context(), id, sealed); err != nil {
			t.Errorf("%s: open: %v", what, err)
		}
	}
}

// TestRotationsAtOnce: none is lost.
func TestRotationsAtOnce(t *testing.T) {
	name, _ := newFile(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := changer().Rotate(name, false); err != nil {
				t.Errorf("rotate: %v", err)
			}
		})
	}
	all.Wait()
	versions, err := localkey.Versions(name)
	if err != nil || len(versions) != 21 || !versions[20].Primary {
		t.Errorf("%d versions, error %v", len(versions), err)
	}
}

// TestARotationThatIsCutShort leaves the file as it was or as it was to be, and a plugin
// goes on in either case.
func TestARotationThatIsCutShort(t *testing.T) {
	for _, at := range []string{"create", "write", "sync", "rename", "sync the directory"} {
		name, first := newFile(t)
		p := localkey.New(name)
		look(t, p)
		sealed, err := p.Seal(t.Context(), first, []byte("text"))
		if err != nil {
			t.Fatal(err)
		}
		crash := errors.New("crash")
		c := changer()
		c.Writer = protected.Writer{Before: func(step string) error {
			if step == at {
				return crash
			}
			return nil
		}}
		if _, err := c.Rotate(name, false); !errors.Is(err, crash) {
			t.Errorf("%s: error %v", at, err)
		}
		fresh := localkey.New(name) // after a restart
		if id := look(t, fresh); id != look(t, p) {
			t.Errorf("%s: a new process seals with %s", at, id)
		}
		if text, err := fresh.Open(context.Background(), first, sealed); err != nil || string(text) != "text" {
			t.Errorf("%s: opens as %q, %v", at, text, err)
		}
		if _, err := changer().Rotate(name, false); err != nil {
			t.Errorf("%s: the next rotation: %v", at, err)
		}
		look(t, p)
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	name, _ := newFile(t)
	if _, err := changer().Init(name); !errors.Is(err, localkey.ErrExists) {
		t.Errorf("init over a file: %v", err)
	}
	if _, err := changer().Activate(name); !errors.Is(err, localkey.ErrNoStaged) {
		t.Errorf("activate without a staged version: %v", err)
	}
	c := changer()
	c.Entropy = bytes.NewReader(make([]byte, 32))
	if _, err := c.Rotate(name, false); err == nil {
		t.Error("a key of nothing but zeros was made")
	}
	if _, err := c.Rotate(name, false); err == nil {
		t.Error("a key was made without entropy")
	}
	none := filepath.Join(t.TempDir(), "none")
	if _, err := changer().Rotate(none, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("rotate nothing: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(none)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
