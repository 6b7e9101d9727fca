package cloak_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planted is a bug: a text of a file, which is there once, what stands there instead,
// and the test of that package that sees it.
type planted struct {
	bug, file, old, with, test string
}

var plantedBugs = []planted{
	{"placeholders of another number of bits", "placeholder/mint.go", "lo+n]", "lo]", "TestMint"},
	{"bits of others are changed", "placeholder/huffman.go", "b[len(b)-1] &= 0xff << (8 - rest)", "_ = rest", "TestHuffmanAtEachOffset"},
	{"only whole bytes are found", "placeholder/form.go", "offset < 8; offset++", "offset < 1; offset++", "TestHuffmanAtEachOffset"},
	{"the key is enough", "placeholder/form.go", "return string(text[1:n-1]) == string(f.Old[1:n-1])", "return true", "TestRawForm"},
	{"the length in HPACK does not matter", "placeholder/form.go", "fit == FitsAll && offset", "offset", "TestOtherNumberOfBits"},
	{"a byte is of one code only", "placeholder/form.go", "at >= end || at >= 0 && at == end-1 && last&f.First == 0", "at >= end && int(last) >= 0", "TestTwoInOneByte"},
	{"values that are not text pass", "placeholder/mint.go", "case !utf8.Valid(value):", "case !utf8.Valid(value) && false:", "TestCheck"},
	{"a byte too many", "placeholder/mint.go", "case n > LengthMax:", "case n > LengthMax+1:", "TestCheck"},

	{"an invalid port is every port", "policy/rule.go", "return Port{}, fmt.Errorf", "return AnyPort, fmt.Errorf", "TestParsePort"},
	{"an invalid host is every host", "policy/rule.go", "return Hosts{}, fmt.Errorf", "return AnyHost, fmt.Errorf", "TestParseHosts"},
	{"a port that is none is zero", "policy/decide.go", "p.number != 0 && p.protocol == TCP && p.number == number", "p.number == number", "TestDecide$"},
	{"a server answers with secrets", "policy/decide.go", "!s.Outgoing || !s.TCP", "!s.TCP", "TestDecide$"},
	{"an address that is none is that of no name", "policy/decide.go", `host.name != "" && host.name == s.Host || host.addr.IsValid() &&`, "host.name == s.Host ||", "TestDecide$"},
	{"audit forgets the rule", "policy/decide.go", "case !granted && t.Mode != Audit:", "case !granted && t.Mode == Audit:\n\t\treturn Verdict{Allow: true, Why: NoACL}\n\tcase !granted:", "TestDecideGrants"},

	{"a power too few", "patch/field.go", "h.Pow((n+15)/16 - last)", "h.Pow((n+15)/16 - last - 1)", "TestPatchedRecordsOpen"},
	{"a partial block does not count", "patch/field.go", "(n+15)/16 - last", "max(n/16, last+1) - last", "TestEdgesOfARecord"},
	{"the version is guessed", "patch/locate.go", "if version == TLS12 {", "if version != TLS13 && version != 0 || version == 0 && length >= 124 {", "TestLocate"},
	{"the first of two records it is", "patch/locate.go", "if found != nil {", "if false {", "TestLocate"},
	{"a record is not whole", "patch/locate.go", "if end > len(buf) {", "if end > len(buf)+1 {", "TestLocate"},
	{"a record is changed once", "patch/ring.go", "e.applied = true", "e.broken = true", "TestAnySegmentation"},
	{"ranges are changed as they compare", "patch/ring.go", "if slices.ContainsFunc(cuts, func(c cut) bool { return !c.compares() }) {", "cuts = slices.DeleteFunc(cuts, func(c cut) bool { return !c.compares() })\n\t\tif len(cuts) == 0 && false {", "TestSomethingElseIsThere"},
	{"changed already is something else", "patch/ring.go", "|| bytes.Equal(c.there, c.fresh)", "", "TestApplyingTwice"},
	{"the sequence space ends", "patch/entry.go", "return int32(s-o) < 0", "return s < o", "TestAnySegmentation"},
	{"a retry is another record", "patch/ring.go", "return o.Start == e.Start", "return false", "TestAnySegmentation"},
	{"half acknowledged is acknowledged", "patch/ring.go", "return !una.Before(e.End)", "return e.Start.Before(una)", "TestAnySegmentation"},
	{"touching changes are compared apart", "patch/entry.go", "p.at <= out[n-1].to {", "false {", "TestTwoChangesOfOneByte"},
	{"places are even", "patch/checksum.go", "if (at+i)%2 == 1 {", "if i%2 == 1 {", "TestChecksum"},

	{"no retention", "virtualip/table.go", "now-r.since >= t.cfg.Retention", "true", "TestLifeOfAnAddress"},
	{"no quarantine", "virtualip/table.go", "now-r.since >= t.cfg.Quarantine", "true", "TestLifeOfAnAddress"},
	{"sockets do not matter", "virtualip/table.go", "now-r.since >= t.cfg.Retention && !referred(r.Row)", "now-r.since >= t.cfg.Retention", "TestLifeOfAnAddress"},
	{"the first that is free", "virtualip/table.go", "(t.cursor + 1 + i)", "(1 + i)", "TestLifeOfAnAddress"},
	{"the last row wins", "virtualip/table.go", "|| c.slots[slots[0]] != 2", "", "TestRestore"},
	{"what is dropped is free", "virtualip/table.go", "doubtful = append(doubtful, slots...)", "_ = doubtful", "TestRestore"},
	{"hosts without end", "virtualip/table.go", "if len(t.hosts) >= t.cfg.Hosts {", "if false {", "TestTooManyHosts"},

	{"a Secret of somebody else is overwritten", "shadow/reconciler.go", "case current != nil && !Owned(current, original):", "case current != nil && !Owned(current, original) && false:", "TestForeign"},
	{"a Secret of somebody else is deleted", "shadow/reconciler.go", "current == nil || !Owned(current, original) ||", "current == nil ||", "TestForeign"},
	{"an orphan in an old cache is deleted", "shadow/reconciler.go", "if live == nil || live.UID != original.UID {", "if live == nil {", "TestOrphanInAnOldCache"},
	{"whose it was before does not matter", "shadow/shadow.go", "&& ref.UID == original.UID", "", "TestOrphan"},
	{"what is deleted may have changed", "shadow/reconciler.go", "client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion}", "client.Preconditions{}", "TestLagsBehind"},
	{"the Secret is read first", "shadow/reconciler.go", "current, err := get(ctx, reader, types.NamespacedName{Namespace: name.Namespace, Name: NameOf(name.Name)})\n\tif err != nil {\n\t\treturn err\n\t}\n\toriginal, err := get(ctx, reader, name)\n", "original, err := get(ctx, reader, name)\n\tif err != nil {\n\t\treturn err\n\t}\n\tcurrent, err := get(ctx, reader, types.NamespacedName{Namespace: name.Namespace, Name: NameOf(name.Name)})\n", "TestSecretChangesBetweenTheReads"},
	{"both get new placeholders", "shadow/plan.go", "if other.older(me) {", "if other.older(me) || true {", "TestDuplicates"},
	{"both keep their placeholder", "shadow/plan.go", "if other.older(me) {", "if other.older(me) && false {", "TestDuplicates"},
	{"half a Secret is protected", "shadow/reconciler.go", "case len(report.Values) > 0:", "case len(report.Values) > 1:", "TestBadValues"},

	{"what cannot be read is not protected", "webhook/pods.go", "return \"\", later(\"Secret %s could not be read: %v\", name.Name, err)", "return name.Name, nil", "TestWhatCannotBeRead"},
	{"the shadow may be anybody's", "webhook/pods.go", "case !shadow.Owned(&s, &original) || !s.DeletionTimestamp.IsZero():", "case !s.DeletionTimestamp.IsZero():", "TestReferences"},
	{"images are pulled with placeholders", "webhook/pods.go", "case !ref.Kubelet:", "case !ref.Kubelet && false:", "TestReferences"},
	{"the namespace decides", "webhook/pods.go", "if value, ok := pod.Labels[cloak.AnnotationEnabled]; ok {", "if value, ok := pod.Labels[cloak.AnnotationEnabled]; ok && false {", "TestWhoTakesPart"},
	{"what was bad may get worse", "webhook/secrets.go", "return slices.Contains(known, d)", "return len(known) > 0", "TestSecrets"},
}

// withRapid are the packages whose tests use rapid.
var withRapid = []string{"patch", "placeholder", "policy", "shadow", "virtualip"}

// TestPlantedBugs makes sure that the tests of the packages below see each of the
// bugs, planted from outside, one at a time.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() || os.Getenv("SEEDBED_SEEDS") == "" {
		t.Skip("builds tests anew for minutes; make planted does")
	}
	for _, b := range slices.Concat(plantedBugs, nodeBugs) {
		t.Run(strings.ReplaceAll(b.bug, " ", "-"), func(t *testing.T) {
			out, err := b.run(t)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(out, "--- FAIL") {
				t.Errorf("%s does not see it: %v\n%s", b.test, err, out)
			}
		})
	}
}

// run runs the test with the bug.
func (b *planted) run(t *testing.T) (string, error) {
	path, err := filepath.Abs(filepath.FromSlash(b.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), b.old); n != 1 {
		t.Fatalf("%q is %d times in %s", b.old, n, b.file)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{changed: strings.Replace(string(text), b.old, b.with, 1), overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-timeout=20s", "-run", "^"+b.test, "./"+filepath.Dir(b.file))
	if slices.Contains(withRapid, filepath.Dir(b.file)) { // other tests know no such flag
		cmd.Args = append(cmd.Args, "-rapid.nofailfile")
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
