package encryption_test

import (
	"os"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// TestPermissionsSuffice: what the controllers declare is enough for a rotation and for a
// KMS plugin that is checked and used; and a role that misses something is found. The
// others are the planted bugs.
func TestPermissionsSuffice(t *testing.T) {
	r, _ := read(t, "rotation/01-aescbc.yaml")
	for _, test := range []struct {
		name, file, first string
		result            scenarios.Result
		found             string
	}{
		{"a rotation", "rotation/01-aescbc.yaml", "", scenarios.Held, ""},
		{"a plugin", "kms/to-kms-and-back.yaml", "", scenarios.Held, ""},
		{"without the ClusterRole", "rotation/01-aescbc.yaml", "  - delete: {kind: ClusterRole, name: encryption-controllers}\n", scenarios.Violated, "controllers) was refused: "},
		{"without a Role", "rotation/01-aescbc.yaml", "  - delete: {kind: Role, name: encryption-controllers, namespace: kube-system}\n", scenarios.Violated, "controllers) was refused: "},
		{"without the Role of the check", "kms/to-kms-and-back.yaml", "  - delete: {kind: Role, name: kms-preflight, namespace: seedbed-encryption}\n", scenarios.Violated, "kms-preflight) was refused: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := os.ReadFile(test.file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.NewReplacer("nodeObjects: true}", "nodeObjects: true, rbac: true}", "steps:\n", "steps:\n"+test.first, "  - encryption.*\n", "  - encryption.*\n  - permissions-suffice\n").Replace(string(text))
			if strings.Count(changed, "rbac") != 1 || strings.Count(changed, "permissions-suffice") != 1 {
				t.Fatalf("the file has another form than was thought:\n%s", changed)
			}
			file, err := r.Parse("test.yaml", []byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			o := r.RunSeed(file, 1)
			if o.Result != test.result || !strings.Contains(o.Found, test.found) || test.result == scenarios.Violated && o.Property != scenarios.PermissionsSuffice {
				t.Errorf("%s %s: %s (%v)", o.Result, o.Property, o.Found, o.Err)
			}
		})
	}
}
