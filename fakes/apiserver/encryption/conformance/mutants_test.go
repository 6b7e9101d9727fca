package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a bug in the model, planted into a copy of its source, and the tests that
// must notice it.
type planted struct {
	bug      string
	file     string
	old, new string
	pkg, run string
}

const (
	inEnvelope   = "fakes/kms/envelope/"
	inKMS        = "fakes/kms/"
	inEncryption = "fakes/apiserver/encryption/"
	inServer     = "fakes/apiserver/"
	inCluster    = "sim/cluster/"
)

var bugs = []planted{
	{"writing never expires", inEnvelope + "provider.go", "now.After(s.expires)", "false && now.After(s.expires)", inEnvelope, "Writing"},
	{"a sick plugin lets writing expire, as if the defect was mended", inEnvelope + "probe.go", "healthy || !p.cfg.HealthzExpires", "healthy", inEnvelope, "Ill"},
	{"a key is taken that Encrypt has not used", inEnvelope + "probe.go", "a.keyErr == nil && a.object.KeyID == a.status.KeyID", "a.keyErr == nil", inEnvelope, "Key|Answers"},
	{"a new key id extends the old seed", inEnvelope + "probe.go", "p.current.seed != nil && p.current.object.GetKeyID() == a.status.KeyID", "p.current.seed != nil", inEnvelope, "Key"},
	{"no hurry while something is wrong", inEnvelope + "probe.go", "badEvery  = 10 * time.Second", "badEvery  = 60 * time.Second", inEnvelope, "Probes"},
	{"values sealed with an old key of the plugin are not stale", inEnvelope + "provider.go", "return s.object.KeyID != p.current.object.KeyID || ", "return ", inEnvelope, "Key"},
	{"seeds are not remembered", inEnvelope + "provider.go", "if c, ok := p.seeds[s.source]; ok {", "if c, ok := p.seeds[s.source]; ok && false {", inEnvelope, "OneSeed|Cold"},
	{"ciphertexts may be too long", inEnvelope + "check.go", "case len(source) > sourceMax:", "case false:", inEnvelope, "Answers"},
	{"a channel notices at once that its plugin is back", inKMS + "conn.go", "!l.since.After(c.next)", "true", inKMS, "Reconnecting"},
	{"the first error of a provider ends the search", inEncryption + "transformer.go", "			errs = append(errs, err)\n			continue\n		}\n		return stale || i != 0, took, nil", "			return false, took, err\n		}\n		return stale || i != 0, took, nil", inEncryption, "WhoReads"},
	{"only the first provider with the prefix is tried for staleness", inEncryption + "transformer.go", "return stale || i != 0, took, nil", "return stale, took, nil", inEncryption, "WhoReads"},
	{"identity reads what is sealed", inEncryption + "transformer.go", "if v == nil {\n				return i != 0, took, nil\n			}", "if v == nil || true {\n				return i != 0, took, nil\n			}", inEncryption, "WhoReads"},
	{"values are not bound to their place", inEncryption + "keyed.go", "(v.path == path || !key.cipher.binds())", "true", inEncryption, "Moved"},
	{"a configuration is taken whose plugins are not well", inEncryption + "reload.go", "	if err == nil {\n		l.After(took, l.swap)", "	if err == nil || true {\n		l.After(took, l.swap)", inEncryption, "Plugins"},
	{"a bad file takes away what was in force", inEncryption + "reload.go", "l.info.LastFailure, l.info.Err = l.opts.Timers.Now(), err", "l.info.LastFailure, l.info.Err, l.info.Hash = l.opts.Timers.Now(), err, hash", inEncryption, "BadFile"},
	{"a stale value is not written again", inServer + "update.go", "else if stale && !c.dryRun {", "else if stale && false {", inServer, "ThatChangeNothing"},
	{"every write that changes nothing is one", inServer + "update.go", "else if stale && !c.dryRun {", "else if c.rest.Load() != nil {", inServer, "ThatChangeNothing"},
	{"values are sealed by what is in force when they are committed", inServer + "atrest.go", "if c.req.Encoded != nil {", "if false {", inServer, "InFlight"},
	{"a cached object is read once more before it is changed", inServer + "unsealed.go", "!r.cache(c.ep).holds(obj)", "true", inServer, "CacheHolds"},
	{"a watch cache tells what it cannot read", inServer + "watchcache.go", "			w.stumble(c)\n			return", "			w.upto = c.Revision", inServer, "WatchCache"},
	{"a watch cache gives up at once", inServer + "watchcache.go", "case w.state == cacheFollowing:", "case false:", inServer, "WatchCache"},
	{"an unsafe deletion asks nobody whether the object can be read", inServer + "unsealed.go", "		if err == nil {\n			return nil, apierrors.NewConflict", "		if err == nil && false {\n			return nil, apierrors.NewConflict", inServer, "Unsafe"},
	{"a process comes up without its file", inCluster + "instance_start.go", "if i.failed = err; err != nil {", "if i.failed = err; err != nil && false {", inCluster, "CannotLoad"},
	{"plugins take no time", inCluster + "request.go", "r.late += r.work.Took()", "_ = r.work.Took()", inCluster, "TheirTime"},
}

// TestPlantedBugs: each is noticed by the tests that are named for it.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests many times; make planted runs it without -short")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bugs {
		t.Run(b.bug, func(t *testing.T) {
			out, err := b.test(t, root)
			var exit *exec.ExitError
			switch {
			case err == nil:
				t.Errorf("nobody notices:\n%s", out)
			case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic:"):
				t.Errorf("%v, but no test fails (%v):\n%s", err, exit, out)
			}
		})
	}
}

// test runs the tests with the bug in place.
func (b *planted) test(t *testing.T, root string) (string, error) {
	t.Helper()
	file := filepath.Join(root, b.file)
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), b.old); n != 1 {
		t.Fatalf("%s has %q %d times", b.file, b.old, n)
	}
	dir := t.TempDir()
	mutated := write(t, filepath.Join(dir, "mutated.go"), strings.Replace(string(src), b.old, b.new, 1))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-vet=off", "-timeout", "60s", "-overlay", write(t, filepath.Join(dir, "overlay.json"), string(overlay)),
		"-run", b.run, "./"+strings.TrimSuffix(b.pkg, "/"))
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
