package cgroups_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/cgroups"
)

const (
	uid    = "0f5c8d5e-3a51-4a5c-9d0e-2b1f6c7a8b9c"
	static = "5dc7a1f5d6b5d0e3a1c9b7e2f4a6c8d0"
)

var id = strings.Repeat("0123456789abcdef", 4)

// Section 2.5: the leaf of a container, in the forms of all drivers, and nothing else.
func TestParse(t *testing.T) {
	under := strings.ReplaceAll(uid, "-", "_")
	for _, tc := range []struct {
		row, path string
		uid       string // empty if it is no container
	}{
		{"systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope", uid},
		{"systemd, guaranteed", "kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope", uid},
		{"systemd, from the mount", cloak.CgroupBasePath + "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice/cri-containerd-" + id + ".scope", uid},
		{"systemd, CRI-O", "/kubepods.slice/kubepods-pod" + under + ".slice/crio-" + id + ".scope", uid},
		{"kind", "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope", uid},
		{"cgroupfs", "/kubepods/burstable/pod" + uid + "/" + id, uid},
		{"cgroupfs, guaranteed", "/kubepods/pod" + uid + "/" + id, uid},
		{"cgroupfs, below another", "/docker/" + id + "/kubepods/besteffort/pod" + uid + "/" + id, uid},
		{"a static Pod", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice/cri-containerd-" + id + ".scope", static},
		{"a slash at the end", "/kubepods/burstable/pod" + uid + "/" + id + "/", uid},

		{"the Pod, systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice", ""},
		{"the Pod, cgroupfs", "/kubepods/burstable/pod" + uid, ""},
		{"the class", "/kubepods/burstable", ""},
		{"all Pods", "/kubepods.slice", ""},
		{"the root", "/", ""},
		{"nothing", "", ""},
		{"below a container", "/kubepods/burstable/pod" + uid + "/" + id + "/init.scope", ""},
		{"below a container, systemd", "/kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope/system.slice", ""},
		{"the monitor of CRI-O", "/kubepods.slice/kubepods-pod" + under + ".slice/crio-conmon-" + id + ".scope", ""},
		{"no Pod's", "/system.slice/docker-" + id + ".scope", ""},
		{"somebody's folder of that name", "/user/pod" + uid + "/" + id, ""},
		{"a slice of somebody", "/user.slice/user-pod" + under + ".slice/cri-containerd-" + id + ".scope", ""},
		{"a short id", "/kubepods/burstable/pod" + uid + "/" + id[:63], ""},
		{"no uid", "/kubepods/burstable/podx/" + id, ""},
		{"up and away", "/kubepods/burstable/pod" + uid + "/../" + id, ""},
	} {
		got, ok := cgroups.Parse(tc.path)
		want := cgroups.Container{}
		if tc.uid != "" {
			want = cgroups.Container{UID: types.UID(tc.uid), ID: id}
		}
		if got != want || ok != (tc.uid != "") {
			t.Errorf("%s: %+v, %t", tc.row, got, ok)
		}
	}
}

// FuzzParse makes sure that whatever is parsed is a uid and an id.
func FuzzParse(f *testing.F) {
	f.Add("/kubepods/burstable/pod" + uid + "/" + id)
	f.Add("/kubepods.slice/kubepods-pod" + static + ".slice/crio-" + id + ".scope")
	f.Fuzz(func(t *testing.T, path string) {
		c, ok := cgroups.Parse(path)
		if ok != (c != cgroups.Container{}) || ok && (len(c.ID) != 64 || !strings.Contains(strings.ReplaceAll(path, "_", "-"), string(c.UID))) {
			t.Errorf("%q: %+v, %t", path, c, ok)
		}
	})
}
