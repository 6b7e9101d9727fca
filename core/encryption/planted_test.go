package encryption_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a bug: what is written in a file, and what is written there instead.
type planted struct {
	bug       string
	file      string // below core/encryption
	old, with string // old is there once
	pkg       string // whose test sees it, below core/encryption
	test      string // sees it
}

var plantedBugs = []planted{
	{"a removed resource goes at once", "state/desired.go", "leaving := next.without(grs)", "leaving := next.without(next.Resources())", "state", "TestNoStepIsUnsafe"},
	{"a removed resource goes before it is decrypted", "state/leaving.go", "return r.Plainly() && Decrypted(r.GroupResource, keys)", "return r.Plainly()", "state", "TestNoStepIsUnsafe"},
	{"a removed resource is decrypted while keys still write", "state/leaving.go", "if !s[i].Plainly() {", "if false {", ".", "TestARemovedResource"},
	{"what a removed resource was migrated to is remembered", "state/leaving.go", "if slices.Contains(grs, gr) == (len(current) == 0) {", "if slices.Contains(grs, gr) && len(current) == 0 {", "state", "TestNoStepIsUnsafe"},
	{"what was migrated is remembered though the configuration was lost", "state/leaving.go", "if slices.Contains(grs, gr) == (len(current) == 0) {", "if !slices.Contains(grs, gr) && len(current) > 0 {", "state", "TestNoStepIsUnsafe"},
	{"that a resource was decrypted is remembered though keys write it again", "state/leaving.go", "if r := current.Find(gr); r == nil || !r.Plainly() {", "if false {", "state", "TestNoStepIsUnsafe"},
	{"the newest key writes before all read it", "state/desired.go", "if next.read(expected) || next.newestReadIsUnbacked() {", "if next.read(expected); next.newestReadIsUnbacked() {", "state", "TestNoStepIsUnsafe"},
	{"old keys are dropped before all is migrated", "state/desired.go", "if !write.Migrated.HasAll(next.Resources()) {", "if false {", "state", "TestNoStepIsUnsafe"},
	{"keys are dropped that are still needed", "state/desired.go", "return keys[:min(i+2, len(keys))]", "return keys[:i+1]", "state", "TestRetained"},
	{"without resources, nothing goes on", "look.go", "len(v.grs) == 0 {", "false {", ".", "TestNothingIsToBeEncrypted"},

	{"nodes need not agree on the id of a plugin's key", "pluginhealth.go", "case r.kek != p.KEKID:", "case false:", ".", "TestNodesThatDiffer"},
	{"an id of a plugin's key counts at once", "kek.go", "|| now.Sub(w.since) < KEKSettleTime {", "{", ".", "TestAnIDThatGoesToAndFro"},
	{"it is noted that all is rewritten with whatever key the plugin has", "migration_note.go", "next.KEK.Migrated = j.key.KEK.Target", "next.KEK.Migrated = m.watch.kek", ".", "TestAPluginRotatesDuringTheRun"},
	{"a key is made while objects are rewritten for a plugin", "key.go", "latest.KEK.Pending():", "false:", ".", "TestAnotherKeyWaits"},
	{"a key that was made meanwhile does not wait", "state/desired.go", "&& r.Write.KEK.Pending()", "&& false", ".", "TestAnotherKeyWaits"},
	{"ids of a plugin's key may change for ever", "kek.go", "now.Sub(k.settled) > KEKPatience", "false", ".", "TestAnIDThatGoesToAndFro"},
}

// TestPlantedBugs makes sure that the tests of this package and of those below it
// see each of the bugs, planted from outside, one at a time. They are built anew for
// it.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests anew; make test does, without -short")
	}
	for _, p := range plantedBugs {
		t.Run(p.bug, func(t *testing.T) {
			if out, passes := p.run(t); passes {
				t.Errorf("%s of %s does not see it", p.test, p.pkg)
			} else if !strings.Contains(out, "--- FAIL") {
				t.Errorf("the bug is no program:\n%s", out)
			}
		})
	}
}

// run runs the test with the bug, and returns what it says and whether it passes.
func (p *planted) run(t *testing.T) (out string, passes bool) {
	t.Helper()
	path, err := filepath.Abs(p.file)
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	if n := strings.Count(string(text), p.old); n != 1 {
		t.Fatalf("%s has %q %d times, want once", p.file, p.old, n)
	}
	dir := t.TempDir()
	with := filepath.Join(dir, "with.go")
	must(t, os.WriteFile(with, []byte(strings.Replace(string(text), p.old, p.with, 1)), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: with}})
	must(t, err)
	list := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(list, overlay, 0o600))
	args := []string{"test", "-count=1", "-vet=off", "-overlay", list, "-run", "^" + p.test + "$", "./" + p.pkg}
	if p.pkg == "state" {
		args = append(args, "-rapid.checks=5000", "-rapid.nofailfile", "-rapid.shrinktime=1s")
	}
	cmd := exec.Command("go", args...)
	said, err := cmd.CombinedOutput()
	return string(said), err == nil
}
