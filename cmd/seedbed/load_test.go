package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

// The load that a served cluster has to hold.
const (
	loadPods    = 10_000
	loadWatches = 200
	loadWrites  = 200
	loadUnread  = 6_000 // events that a watch is sent which is never read
)

// figures are what one server makes of the load.
type figures struct {
	name          string
	start         time.Duration // from nothing until it answers
	full          time.Duration // from then until all pods are there
	idle, held    int           // MiB, before and after the pods and watches
	unread        int           // MiB, after the events that nobody reads
	list          time.Duration // median, all pods, protobuf
	listJSON      time.Duration
	fanOut, worst time.Duration // from a write until all watches have seen it: median, slowest
	events        float64       // a second, over all watches, as fast as writes come
}

// TestLoad holds the same load against seedbed serve and a real kube-apiserver, one
// after the other, and prints both. What is demanded is that the load is held; figures
// are of this machine at this moment.
func TestLoad(t *testing.T) {
	if os.Getenv("SEEDBED_LOAD") == "" {
		t.Skip("takes minutes and a real kube-apiserver; make load runs it")
	}
	ours := loadServed(t)
	theirs := loadReal(t)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "\n%d pods, %d watches\tstart\tpods there after\tmemory idle\tmemory held\tunread events\tlist\tlist as JSON\tfan-out\tslowest\tevents/s\t\n", loadPods, loadWatches)
	for _, f := range []*figures{ours, theirs} {
		fmt.Fprintf(out, "%s\t%.2f s\t%.1f s\t%d MiB\t%d MiB\t%d MiB\t%d ms\t%d ms\t%.1f ms\t%.1f ms\t%.0f\t\n", f.name,
			f.start.Seconds(), f.full.Seconds(), f.idle, f.held, f.unread, f.list.Milliseconds(), f.listJSON.Milliseconds(),
			float64(f.fanOut.Microseconds())/1000, float64(f.worst.Microseconds())/1000, f.events)
	}
	if err := out.Flush(); err != nil {
		t.Error(err)
	}
	if ours.start > time.Second {
		t.Errorf("seedbed serve was up after %v", ours.start)
	}
}

// loadServed starts the command as a process of its own, so that its memory is its own.
func loadServed(t *testing.T) *figures {
	f := &figures{name: "seedbed serve"}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	program := filepath.Join(t.TempDir(), "seedbed")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build seedbed: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "serve", "--nodes", "100", "--kubeconfig", kubeconfig)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	f.measure(t, config, began, func() int { return resident(cmd.Process.Pid) })
	return f
}

func loadReal(t *testing.T) *figures {
	f := &figures{name: "kube-apiserver, etcd"}
	began := time.Now()
	server, err := testenv.Start(t.Context(), testenv.Options{AllowAll: true, Flags: []string{
		"--max-requests-inflight=2000", "--max-mutating-requests-inflight=2000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	f.measure(t, server.Config(), began, func() int { return descendants("kube-apiserver", "etcd") })
	return f
}

// measure puts the load on a server.
func (f *figures) measure(t *testing.T, config *restclient.Config, began time.Time, memory func() int) {
	t.Helper()
	ctx := t.Context()
	config.QPS, config.Burst = -1, -1
	binary := restclient.CopyConfig(config)
	binary.ContentType, binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	client := kubernetes.NewForConfigOrDie(binary)
	if _, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	f.start = time.Since(began)
	f.idle = memory()
	began = time.Now()
	f.fill(t, client)
	f.full = time.Since(began)
	f.list = median(5, func() { f.read(t, client) })
	f.listJSON = median(5, func() { f.read(t, kubernetes.NewForConfigOrDie(config)) })

	stuck := neverRead(t, config)
	defer stuck.Close()
	f.fan(t, client, memory)
	f.overtake(t, client, stuck)
	f.unread = memory()
}

// fan opens the watches, and measures how long they take to see what is written.
func (f *figures) fan(t *testing.T, client kubernetes.Interface, memory func() int) {
	t.Helper()
	ctx := t.Context()
	var seen atomic.Int64
	var watches sync.WaitGroup
	watching, leave := context.WithCancel(ctx)
	defer watches.Wait()
	defer leave()
	for range loadWatches {
		w, err := client.CoreV1().Pods("load").Watch(watching, metav1.ListOptions{ResourceVersion: ""})
		if err != nil {
			t.Fatal(err)
		}
		watches.Go(func() {
			for ev := range w.ResultChan() {
				// Kubelets, where there are some, write to pods too.
				if p, ok := ev.Object.(*corev1.Pod); ok && ev.Type == "MODIFIED" && p.Labels["n"] != "" {
					seen.Add(1)
				}
			}
		})
	}
	write := func(i int) { label(t, client, i) }
	all := func(n int64) { // waits until all watches have seen so many writes
		for seen.Load() < n*loadWatches && !t.Failed() {
			runtime.Gosched()
		}
	}
	write(0) // all initial events have gone by
	all(1)
	var took []time.Duration
	for i := range 50 {
		at := time.Now()
		write(i)
		all(int64(i + 2))
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	f.fanOut, f.worst = took[len(took)/2], took[len(took)-1]
	before := seen.Load()
	at := time.Now()
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range loadWrites / 8 {
				write(w*1000 + i)
			}
		})
	}
	writers.Wait()
	all(before/loadWatches + loadWrites/8*8)
	f.events = float64(loadWrites/8*8*loadWatches) / time.Since(at).Seconds()
	f.held = memory()
}

// label writes to a pod.
func label(t *testing.T, client kubernetes.Interface, i int) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, time.Now().UnixNano())
	if _, err := client.CoreV1().Pods("load").Patch(t.Context(), podName(i), types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// overtake writes more than a server keeps for a watch, and then reads the one that has
// not been read. Its stream ends, and nobody says why: whoever watches again from there
// is told.
func (f *figures) overtake(t *testing.T, client kubernetes.Interface, unread io.Reader) {
	t.Helper()
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range loadUnread / 8 {
				label(t, client, w*1000+i)
			}
		})
	}
	writers.Wait()
	text, err := io.ReadAll(unread) // an error is an end, too
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: a watch that is never read goes on for ever", f.name)
	}
	if bytes.Contains(text, []byte(`{"type":"ERROR"`)) {
		t.Errorf("%s: a watch that is never read ends with an ERROR event: %s", f.name, text[max(0, len(text)-500):])
	}
	t.Logf("%s: the watch that was not read ends with %v after %d KiB", f.name, err, len(text)>>10)
}

func podName(i int) string { return fmt.Sprintf("load-%05d", i) }

func (f *figures) fill(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "load"}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for w := range 16 {
		workers.Go(func() {
			for i := w; i < loadPods; i += 16 {
				p := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: podName(i), Labels: map[string]string{"app": "load"}},
					Spec: corev1.PodSpec{
						NodeName:   fmt.Sprintf("node-%d", i%100+1),
						Containers: []corev1.Container{{Name: "main", Image: "registry.example/load:1"}},
					},
				}
				for {
					_, err := client.CoreV1().Pods("load").Create(ctx, p, metav1.CreateOptions{})
					if err == nil {
						break
					}
					if !apierrors.IsTooManyRequests(err) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	workers.Wait()
}

func (f *figures) read(t *testing.T, client kubernetes.Interface) {
	list, err := client.CoreV1().Pods("load").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != loadPods {
		t.Errorf("list: %d pods, %v", len(list.Items), err)
	}
}

func median(n int, do func()) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		at := time.Now()
		do()
		took[i] = time.Since(at)
	}
	slices.Sort(took)
	return took[n/2]
}

// neverRead opens a watch of everything and does not read it.
func neverRead(t *testing.T, config *restclient.Config) io.ReadCloser {
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+"/api/v1/pods?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("a watch that is never read: %v", err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		t.Fatalf("a watch that is never read: %s", resp.Status)
	}
	return resp.Body
}

// resident is the memory of a process in MiB.
func resident(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n / 1024
		}
	}
	return 0
}

// descendants is the memory of all programs of these names that this process has
// started, in MiB.
func descendants(names ...string) int {
	sum := 0
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	parent, name := map[int]int{}, map[int]string{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:open])))
		parent[pid], _ = strconv.Atoi(fields[1])
		name[pid] = string(text[open+1 : end])
	}
	for pid := range name {
		if !slices.Contains(names, name[pid]) {
			continue
		}
		for p := pid; p > 1; p = parent[p] {
			if p == os.Getpid() {
				sum += resident(pid)
				break
			}
		}
	}
	return sum
}
