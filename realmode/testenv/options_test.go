package testenv

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

func TestServerFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    map[string][]string // what differs from the zero value's
	}{
		"no difference":              {Options{}, map[string][]string{}},
		"controllers need accounts":  {Options{Controllers: true}, map[string][]string{"disable-admission-plugins": nil}},
		"accounts alone":             {Options{ServiceAccountAdmission: true}, map[string][]string{"disable-admission-plugins": nil}},
		"a flag of one's own":        {Options{Flags: []string{"--v=4"}}, map[string][]string{"v": {"4"}}},
		"a flag given twice":         {Options{Flags: []string{"--a=1", "--a=b=2"}}, map[string][]string{"a": {"1", "b=2"}}},
		"a flag in place of another": {Options{Flags: []string{"--allow-privileged=true"}}, map[string][]string{"allow-privileged": {"true"}}},
	} {
		t.Run(name, func(t *testing.T) {
			plain, err := (&Options{}).serverFlags("tokens.csv")
			if err != nil {
				t.Fatal(err)
			}
			got, err := tc.options.serverFlags("tokens.csv")
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range plain {
				if cmp.Equal(values, got[name]) {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlagsMustHaveAValue(t *testing.T) {
	for _, flag := range []string{"v=4", "-v=4", "--v"} {
		if _, err := (&Options{Flags: []string{flag}}).serverFlags(""); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestMissingProgramsAreNamed(t *testing.T) {
	_, err := Start(t.Context(), Options{Programs: binaries.Set{binaries.APIServer: "/bin/true"}})
	if err == nil || !strings.Contains(err.Error(), "needs the program etcd") {
		t.Errorf("the error is %v", err)
	}
}
