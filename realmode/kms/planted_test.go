package kms_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a bug: an expression of the code, and the one that stands there instead.
type planted struct {
	bug  string
	file string // below realmode/kms
	old  string // the expression, which is there once
	with string
	kind string // the type of the expression; empty for bool
	test string // of the package of the file; sees it
}

var plantedBugs = []planted{
	{bug: "a version that was replaced seals again", file: "keeper.go", old: "k.replaced[id]", with: "false", test: "TestNeverBack"},
	{bug: "a version is taken untried", file: "keeper.go", old: "k.try(ctx, id)", with: "error(nil)", kind: "error", test: "TestAVersionIsTriedBeforeItIsTaken"},
	{bug: "what comes back is not compared", file: "keeper.go", old: "!bytes.Equal(opened, text) || bytes.Contains(sealed, text)", with: "false", test: "TestAVersionIsTriedBeforeItIsTaken"},
	{bug: "a key that nobody tries is well", file: "keeper.go", old: "age > k.stale", with: "false", test: "TestAKeyThatWasNotTriedForLong"},
	{bug: "only what is new is tried", file: "keeper.go", old: "k.try(ctx, k.keyID())", with: "error(nil)", kind: "error", test: "TestWhatLooksWrong"},
	{bug: "ciphertexts may be too long", file: "limits.go", old: "n == 0 || n > CiphertextMax", with: "n == 0", test: "TestLimits"},
	{bug: "an occupied socket is taken", file: "socket.go", old: "!takeOver", with: "false", test: "TestSocketsThatAreThere"},
	{bug: "a dead socket is a hindrance", file: "socket.go", old: "errors.Is(err, syscall.ECONNREFUSED)", with: "false", test: "TestSocketsThatAreThere"},
	{bug: "anything is replaced by the socket", file: "socket.go", old: "info.Mode().Type() != fs.ModeSocket", with: "false", test: "TestSocketsThatAreThere"},
	{bug: "a socket that was taken over is one's own", file: "socket.go", old: "!os.SameFile(id, s.id)", with: "false", test: "TestTheSocketOfTheNextIsLeftAlone"},
	{bug: "the mask says who may connect", file: "socket.go", old: "os.Chmod(s.path+newSuffix, socketMode)", with: "error(nil)", kind: "error", test: "TestSocketIsForItsUserAlone"},
	{bug: "others may replace the socket", file: "socket.go", old: "mode&0o022 != 0", with: "false", test: "TestASharedDirectory"},
	{bug: "calls are cut off at the end", file: "server.go", old: "s.cfg.DrainTimeout", with: "0", kind: "time.Duration", test: "TestCallsEndInTime"},

	{bug: "an older file is taken", file: "localkey/provider.go", old: "i >= len(ids) || ids[i] != id", with: "false", test: "TestAnotherFile"},
	{bug: "the primary goes back", file: "localkey/provider.go", old: "f.Primary-1 < p.seals", with: "false", test: "TestAnotherFile"},
	{bug: "what was sealed is bound to nothing", file: "localkey/provider.go", old: `[]byte("seedbed-kms " + keyID)`, with: "nil", kind: "[]byte", test: "TestFormat"},
	{bug: "a key may come back as a new version", file: "localkey/file.go", old: "slices.ContainsFunc(f.Keys[:i], k.same)", with: "false", test: "TestMalformedFiles"},
	{bug: "init replaces a file", file: "localkey/change.go", old: "!errors.Is(err, os.ErrNotExist)", with: "false", test: "TestChangesThatAreRefused"},
	{bug: "a group may read", file: "protected/protected.go", old: "m&0o077 != 0", with: "m&0o007 != 0", test: "TestModes"},
	{bug: "a foreign file is as good", file: "protected/protected.go", old: "int(owner) != os.Geteuid() && owner != 0", with: "false", test: "TestAForeignFile"},
	{bug: "a server that lags takes a version back", file: "vault/provider.go", old: "seen.number > before.number", with: "seen.number != before.number", test: "TestAServerThatLags"},
	{bug: "a key of the same name is the same", file: "vault/provider.go", old: "seen.number < before.number && seen.created > before.created", with: "false", test: "TestAServerThatLags"},
	{bug: "tokens run out", file: "vault/session.go", old: "s.cfg.Clock.Monotonic() < s.renew", with: "true", test: "TestATokenIsRenewed"},
	{bug: "a token in a file is read once", file: "vault/session.go", old: "token != s.file", with: "false", test: "TestATokenIsReplaced"},
	{bug: "a redirect is followed", file: "vault/client.go", old: "http.ErrUseLastResponse", with: "error(nil)", kind: "error", test: "TestWhatMayBeWrong"},
	{bug: "a Vault's words are repeated as they are", file: "vault/client.go", old: `s != ""`, with: "false", test: "TestWhatMayBeWrong"},
}

// switchText is added to each package that a bug is planted in.
const switchText = `package %s

import "os"

var plantedBug = os.Getenv("SEEDBED_PLANTED")

func plantedPick[T any](bug string, with, written func() T) T {
	if plantedBug == bug {
		return with()
	}
	return written()
}
`

// TestPlantedBugs makes sure that the tests here see each of the bugs, planted from
// outside, one at a time.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() || os.Getenv("SEEDBED_SEEDS") == "" {
		t.Skip("builds tests anew and runs them for minutes; make planted does")
	}
	overlay := plantAll(t)
	programs := map[string]string{}
	for i := range plantedBugs {
		p := &plantedBugs[i]
		dir := filepath.Dir(p.file)
		if programs[dir] == "" {
			programs[dir] = filepath.Join(t.TempDir(), "test")
			if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", programs[dir], "./"+dir).CombinedOutput(); err != nil {
				t.Fatalf("build the tests of %s: %v\n%s", dir, err, out)
			}
		}
		t.Run(p.bug, func(t *testing.T) {
			if out, passes := p.run(programs[dir], dir, ""); !passes {
				t.Fatalf("without a bug, %s fails: %s", p.test, out)
			}
			out, passes := p.run(programs[dir], dir, p.bug)
			if passes || !strings.Contains(out, "--- FAIL: "+p.test) && !strings.Contains(out, "panic: ") {
				t.Errorf("%s does not see it: %s", p.test, out)
			}
		})
	}
}

// run runs the test with one of the bugs, or none, and reports whether it passes.
func (p *planted) run(program, dir, bug string) (out string, passes bool) {
	cmd := exec.Command(program, "-test.run", "^"+p.test+"$", "-test.timeout", "20s")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SEEDBED_PLANTED="+bug)
	said, err := cmd.CombinedOutput()
	return string(said), err == nil
}

// plantAll writes the files with all bugs in them, and returns the name of the list.
func plantAll(t *testing.T) string {
	t.Helper()
	dir, replace, texts := t.TempDir(), map[string]string{}, map[string]string{}
	for _, p := range plantedBugs {
		path, err := filepath.Abs(p.file)
		if err != nil {
			t.Fatal(err)
		}
		if texts[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(text)
		}
		if n := strings.Count(texts[path], p.old); n != 1 {
			t.Fatalf("%s has %q %d times, want once", p.file, p.old, n)
		}
		kind := cmp.Or(p.kind, "bool")
		pick := fmt.Sprintf("plantedPick(%q, func() %s { return %s }, func() %s { return %s })", p.bug, kind, p.with, kind, p.old)
		texts[path] = strings.Replace(texts[path], p.old, pick, 1)
	}
	write := func(name string, content []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for path, text := range texts {
		pkg, _, _ := strings.Cut(strings.TrimPrefix(text[strings.Index(text, "package "):], "package "), "\n")
		replace[path] = write(fmt.Sprintf("with-%d.go", len(replace)), []byte(text))
		replace[filepath.Join(filepath.Dir(path), "planted_switch.go")] = write("switch-"+pkg+".go", fmt.Appendf(nil, switchText, pkg))
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	return write("overlay.json", list)
}
