package gossipkeys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// memory is a Kubernetes API small enough to read in a minute: Secrets and
// Nodes, resource versions, uids, conflicts, and a place to put failures.
type memory struct {
	mu       sync.Mutex
	objects  map[string]client.Object
	revision int
	uids     int
	calls    []string // "verb kind", in order, failed ones too

	// before, when set, may fail a call before it has any effect, or change
	// the store to play a rival that was faster; after may fail it when all is
	// done, as when the answer got lost.
	before, after func(verb string, obj any) error
}

func newMemory() *memory { return &memory{objects: map[string]client.Object{}} }

func kindOf(obj any) string {
	switch obj.(type) {
	case *corev1.Secret:
		return "secret"
	case *corev1.Node, *corev1.NodeList:
		return "node"
	}
	panic(fmt.Sprintf("memory holds no %T", obj))
}

func keyOf(obj any, key client.ObjectKey) string { return kindOf(obj) + " " + key.String() }

func (m *memory) call(verb string, obj any, effect func() error) error {
	m.mu.Lock()
	m.calls = append(m.calls, verb+" "+kindOf(obj))
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(verb, obj); err != nil {
			return err
		}
	}
	m.mu.Lock()
	err := effect()
	m.mu.Unlock()
	if err == nil && after != nil {
		return after(verb, obj)
	}
	return err
}

// store puts a copy with a new resource version, and lets obj know it.
func (m *memory) store(id string, obj client.Object) {
	m.revision++
	obj.SetResourceVersion(strconv.Itoa(m.revision))
	m.objects[id] = obj.DeepCopyObject().(client.Object)
}

func fill(into, from client.Object) {
	switch into := into.(type) {
	case *corev1.Secret:
		from.(*corev1.Secret).DeepCopyInto(into)
	case *corev1.Node:
		from.(*corev1.Node).DeepCopyInto(into)
	}
}

func notFound(obj any, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(obj) + "s"}, name)
}

func (m *memory) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return m.call("get", obj, func() error {
		stored, ok := m.objects[keyOf(obj, key)]
		if !ok {
			return notFound(obj, key.Name)
		}
		fill(obj, stored)
		return nil
	})
}

func (m *memory) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	return m.call("list", list, func() error {
		nodes := list.(*corev1.NodeList)
		nodes.Items = nil
		for _, id := range slices.Sorted(maps.Keys(m.objects)) {
			node, ok := m.objects[id].(*corev1.Node)
			if ok && (options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(node.Labels))) {
				nodes.Items = append(nodes.Items, *node.DeepCopy())
			}
		}
		return nil
	})
}

func (m *memory) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return m.call("create", obj, func() error {
		id := keyOf(obj, client.ObjectKeyFromObject(obj))
		if _, ok := m.objects[id]; ok {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: kindOf(obj) + "s"}, obj.GetName())
		}
		m.uids++
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", m.uids)))
		m.store(id, obj)
		return nil
	})
}

func (m *memory) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return m.call("update", obj, func() error {
		id := keyOf(obj, client.ObjectKeyFromObject(obj))
		stored, ok := m.objects[id]
		if !ok {
			return notFound(obj, obj.GetName())
		}
		if rv := obj.GetResourceVersion(); rv != "" && rv != stored.GetResourceVersion() {
			return apierrors.NewConflict(schema.GroupResource{Resource: kindOf(obj) + "s"}, obj.GetName(), fmt.Errorf("modified"))
		}
		m.store(id, obj)
		return nil
	})
}

func (m *memory) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return m.call("patch", obj, func() error {
		id := keyOf(obj, client.ObjectKeyFromObject(obj))
		stored, ok := m.objects[id]
		if !ok {
			return notFound(obj, obj.GetName())
		}
		if patch.Type() != types.MergePatchType {
			return fmt.Errorf("memory knows merge patches only, not %s", patch.Type())
		}
		data, _ := patch.Data(obj)
		old, _ := json.Marshal(stored)
		merged, err := jsonpatch.MergePatch(old, data)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(merged, obj); err != nil {
			return err
		}
		m.store(id, obj)
		return nil
	})
}

func (m *memory) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return m.call("delete", obj, func() error {
		delete(m.objects, keyOf(obj, client.ObjectKeyFromObject(obj)))
		m.revision++
		return nil
	})
}

func (m *memory) Status() client.SubResourceWriter { panic("memory has no status") }

var _ kube.Kube = (*memory)(nil)

// writes counts the calls that change something.
func (m *memory) writes() int {
	count := 0
	for _, c := range m.calls {
		if c[:3] != "get" && c[:4] != "list" {
			count++
		}
	}
	return count
}

const namespace = "kube-system"

func secretKey() client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: "antrea-memberlist-keys"}
}

// secret returns the Secret as stored, or nil.
func (m *memory) secret() *corev1.Secret {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.objects[keyOf(&corev1.Secret{}, secretKey())].(*corev1.Secret)
	if !ok {
		return nil
	}
	return s.DeepCopy()
}

// putSecret stores the Secret with this content, as a user would.
func (m *memory) putSecret(t testing.TB, data string) {
	t.Helper()
	m.change(t, func(s *corev1.Secret) { s.Data = map[string][]byte{"keys": []byte(data)} })
}

// change edits the Secret, creating it first if need be.
func (m *memory) change(t testing.TB, edit func(*corev1.Secret)) {
	t.Helper()
	s := m.secret()
	if s == nil {
		s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secretKey().Name}}
		m.uids++
		s.UID = types.UID(fmt.Sprintf("uid-%d", m.uids))
	}
	edit(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store(keyOf(s, secretKey()), s)
}

func (m *memory) deleteSecret() {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, keyOf(&corev1.Secret{}, secretKey()))
	m.revision++
}

// putNode stores a Node; edit may be nil.
func (m *memory) putNode(name string, edit func(*corev1.Node)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := keyOf(&corev1.Node{}, client.ObjectKey{Name: name})
	node, ok := m.objects[id].(*corev1.Node)
	if !ok {
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	node = node.DeepCopy()
	if edit != nil {
		edit(node)
	}
	m.store(id, node)
}
