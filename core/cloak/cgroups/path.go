package cgroups

import (
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Container is what a cgroup is of.
type Container struct {
	UID types.UID // of the Pod
	ID  string    // of the container, without the name of the runtime
}

var (
	// A uid of the API, which systemd writes with underscores, or that of a static Pod,
	// which is a hash of its manifest.
	uidPattern = regexp.MustCompile(`^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})$`)
	idPattern  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Parse reads the path of a cgroup, relative to where cgroups are mounted or not. It is not
// ok for what is no container's leaf: a Pod, a slice, a cgroup that a container has made
// below its own, or what is no Pod's at all.
//
//	systemd     kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/cri-containerd-<id>.scope
//	cgroupfs    kubepods/burstable/pod<uid>/<id>
//	kind        kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod<uid>.slice/cri-containerd-<id>.scope
func Parse(p string) (c Container, ok bool) {
	dir, leaf := path.Split(path.Clean("/" + p))
	pod := path.Base(dir)
	if name, isSlice := strings.CutSuffix(pod, ".slice"); isSlice {
		return parse(strings.ReplaceAll(lastPod(name), "_", "-"), idOfScope(leaf))
	}
	uid, isPod := strings.CutPrefix(pod, "pod")
	if !isPod || !inKubepods(dir) {
		return Container{}, false
	}
	return parse(uid, leaf)
}

func parse(uid, id string) (Container, bool) {
	if !uidPattern.MatchString(uid) || !idPattern.MatchString(id) {
		return Container{}, false
	}
	return Container{types.UID(uid), id}, true
}

// lastPod returns what follows the last "-pod" of the name of a slice of kubepods.
func lastPod(slice string) string {
	front, uid, found := cutLast(slice, "-pod")
	if !found || !strings.HasPrefix(front, "kubepods") && !strings.Contains(front, "-kubepods") {
		return ""
	}
	return uid
}

// idOfScope returns the id in the name of a container's scope: cri-containerd-<id>.scope,
// crio-<id>.scope, docker-<id>.scope. CRI-O has one that ends alike for its monitor.
func idOfScope(leaf string) string {
	name, isScope := strings.CutSuffix(leaf, ".scope")
	prefix, id, found := cutLast(name, "-")
	if !isScope || !found || strings.Contains(prefix, "conmon") {
		return ""
	}
	return id
}

// inKubepods reports whether a folder is below that of all Pods.
func inKubepods(dir string) bool {
	for _, part := range strings.Split(dir, "/") {
		if part == "kubepods" {
			return true
		}
	}
	return false
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
