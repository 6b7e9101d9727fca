package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/nri"
)

// library is the arm of the library: its runtime's side here, its plugin's side there, and
// a socket in between.
type library struct {
	t      *testing.T
	socket string
	proxy  net.Listener

	mu      sync.Mutex
	runtime *adaptation.Adaptation
	conns   []net.Conn // on the runtime's side
	pods    []*api.PodSandbox
	runs    []*api.Container
}

// patience is shorter than in production, since this is real time.
const patience = 400 * time.Millisecond

func (l *library) timeout() time.Duration { return patience }

func (l *library) serve(served bool) {
	if !served {
		l.hangUp()
		return
	}
	r, err := adaptation.New("runtime", "v0", l.synchronise, func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
		return nil, nil
	}, adaptation.WithSocketPath(l.socket+".runtime"), adaptation.WithPluginPath(l.t.TempDir()), adaptation.WithPluginConfigPath(l.t.TempDir()))
	if err == nil {
		err = r.Start()
	}
	if err == nil {
		l.proxy, err = net.Listen("unix", l.socket)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	l.runtime = r
	l.mu.Unlock()
	go l.forward(l.socket + ".runtime")
}

// synchronise tells a plugin of what there is.
func (l *library) synchronise(ctx context.Context, tell adaptation.SyncCB) error {
	l.mu.Lock()
	pods, runs := l.pods, l.runs
	l.mu.Unlock()
	_, err := tell(ctx, pods, runs)
	return err
}

func (l *library) hangUp() {
	l.mu.Lock()
	r, conns := l.runtime, l.conns
	l.runtime, l.conns = nil, nil
	l.mu.Unlock()
	if r == nil {
		return
	}
	r.Stop()
	if err := l.proxy.Close(); err != nil {
		l.t.Error(err)
	}
	for _, c := range conns {
		_ = c.Close() // one that has ended is closed already
	}
}

// forward carries what goes between a plugin and the runtime's side of the library, which
// in production is a process that can end, and with it all its connections.
func (l *library) forward(to string) {
	for {
		from, err := l.proxy.Accept()
		if err != nil {
			return
		}
		onward, err := net.Dial("unix", to)
		if err != nil {
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, from, onward)
		l.mu.Unlock()
		for _, way := range [][2]net.Conn{{from, onward}, {onward, from}} {
			go func() {
				_, _ = io.Copy(way[1], way[0]) // until one of them is closed
				_ = way[1].Close()
			}()
		}
	}
}

// ask lets the runtime's side make a request, if it is there.
func (l *library) ask(request func(*adaptation.Adaptation) error) error {
	l.mu.Lock()
	r := l.runtime
	l.mu.Unlock()
	if r == nil {
		return nil
	}
	return request(r)
}

func (l *library) start(name string, hold <-chan struct{}) error {
	ctx := context.Background()
	pod := &api.PodSandbox{
		Id: "sandbox-" + name, Uid: name, Name: name, Ips: []string{"10.1.0.1"},
		Linux: &api.LinuxPodSandbox{Namespaces: []*api.LinuxNamespace{{Type: "network", Path: "/var/run/netns/1"}}},
	}
	if err := l.ask(func(r *adaptation.Adaptation) error { return r.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Pod: pod}) }); err != nil {
		return err
	}
	if hold != nil {
		<-hold
	}
	container := &api.Container{Id: "container-" + name, PodSandboxId: pod.Id, Name: "app", Args: []string{"/app"}}
	l.mu.Lock()
	l.pods = append(l.pods, pod)
	l.mu.Unlock()
	err := l.ask(func(r *adaptation.Adaptation) error {
		_, err := r.CreateContainer(ctx, &api.CreateContainerRequest{Pod: pod, Container: container})
		return err
	})
	if err == nil {
		err = l.ask(func(r *adaptation.Adaptation) error {
			return r.StartContainer(ctx, &api.StartContainerRequest{Pod: pod, Container: container})
		})
	}
	l.mu.Lock()
	l.runs = append(l.runs, container)
	l.mu.Unlock()
	return err
}

func (l *library) stop(name string) error {
	l.mu.Lock()
	var pod *api.PodSandbox
	for _, p := range l.pods {
		if p.Name == name {
			pod = p
		}
	}
	l.pods, l.runs = nil, nil
	l.mu.Unlock()
	if pod == nil {
		return fmt.Errorf("there is no Pod %s", name)
	}
	return l.ask(func(r *adaptation.Adaptation) error {
		return r.RemovePodSandbox(context.Background(), &api.RemovePodSandboxRequest{Pod: pod})
	})
}

func (l *library) port() (nri.Runtime, func()) {
	p := &plugin{socket: l.socket}
	return p, p.gone
}

// plugin is one life of a plugin, on the plugin's side of the library.
type plugin struct {
	socket  string
	handler nri.Handler

	mu   sync.Mutex
	conn net.Conn
}

func (p *plugin) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		_ = p.conn.Close() // as the kernel closes it for a process that ends
	}
}

// Serve implements nri.Runtime.
func (p *plugin) Serve(ctx context.Context, _ string, h nri.Handler) error {
	p.handler = h
	closed := make(chan struct{})
	s, err := stub.New(p, stub.WithPluginName("kloak"), stub.WithPluginIdx("10"), stub.WithSocketPath(p.socket),
		stub.WithOnClose(sync.OnceFunc(func() { close(closed) })),
		stub.WithDialer(func(socket string) (net.Conn, error) {
			conn, err := net.Dial("unix", socket)
			p.mu.Lock()
			p.conn = conn
			p.mu.Unlock()
			return conn, err
		}))
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		var refused *net.OpError
		if errors.As(err, &refused) {
			return fmt.Errorf("connect to %s: %w", p.socket, fs.ErrNotExist)
		}
		return err
	}
	select {
	case <-closed:
		return io.EOF
	case <-ctx.Done():
		s.Stop()
		return ctx.Err()
	}
}

func sandboxOf(pod *api.PodSandbox) *node.Sandbox {
	sb := &node.Sandbox{ID: pod.GetId(), UID: types.UID(pod.GetUid()), Namespace: pod.GetNamespace(), Name: pod.GetName(), Annotations: pod.GetAnnotations()}
	for _, ns := range pod.GetLinux().GetNamespaces() {
		if ns.GetType() == "network" {
			sb.NetnsPath = ns.GetPath()
		}
	}
	for _, ip := range pod.GetIps() {
		if a, err := netip.ParseAddr(ip); err == nil {
			sb.IPs = append(sb.IPs, a)
		}
	}
	return sb
}

func containerOf(c *api.Container) *node.Container {
	return &node.Container{ID: c.GetId(), Name: c.GetName(), Args: c.GetArgs()}
}

// Synchronize is one of the methods that the library looks for.
func (p *plugin) Synchronize(ctx context.Context, pods []*api.PodSandbox, containers []*api.Container) ([]*api.ContainerUpdate, error) {
	var sandboxes []*node.Sandbox
	var running []nri.Running
	for _, pod := range pods {
		sb := sandboxOf(pod)
		sandboxes = append(sandboxes, sb)
		for _, c := range containers {
			if c.GetPodSandboxId() == pod.GetId() {
				running = append(running, nri.Running{Sandbox: sb, Container: containerOf(c)})
			}
		}
	}
	p.handler.Synchronize(ctx, sandboxes, running)
	return nil, nil
}

// RunPodSandbox is another.
func (p *plugin) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	p.handler.RunPodSandbox(ctx, sandboxOf(pod))
	return nil
}

// CreateContainer is another.
func (p *plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	p.handler.CreateContainer(ctx, sandboxOf(pod), containerOf(c))
	return nil, nil, nil
}

// StartContainer is another.
func (p *plugin) StartContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) error {
	p.handler.StartContainer(ctx, sandboxOf(pod), containerOf(c))
	return nil
}

// RemovePodSandbox is another.
func (p *plugin) RemovePodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	p.handler.RemovePodSandbox(ctx, sandboxOf(pod))
	return nil
}

func TestLibrary(t *testing.T) {
	adaptation.SetPluginRequestTimeout(patience)
	play(t, "library", func(t *testing.T, f func(*testing.T, arm)) {
		l := &library{t: t, socket: filepath.Join(t.TempDir(), "nri.sock")}
		l.serve(true)
		f(t, l)
		l.hangUp()
	})
}
