package migration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// PageSize is how many objects are read at once.
	PageSize = 500

	// RetryMin and RetryMax bound the time between attempts at a request that may
	// yet succeed. A server that says how long to wait is heard, if it is longer.
	RetryMin = time.Second
	RetryMax = 30 * time.Second
)

var (
	// ErrCannotBeWritten is wrapped by the error of a run for an object that exists
	// and cannot be written: it stays encrypted as it is. It has to be deleted, or
	// what refuses it removed.
	ErrCannotBeWritten = errors.New("it exists, but cannot be written: delete it, or remove what refuses it")

	errNoContinue = errors.New("the list has expired, and the server says not how to go on")
)

// rewrite writes all objects of gr as they are.
func (m *Migrator) rewrite(ctx context.Context, gr schema.GroupResource) error {
	kind, err := m.cfg.Kinds.PreferredKind(ctx, gr)
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", gr, err)
	}
	token := ""
	for {
		page, err := m.page(ctx, kind, token)
		if err != nil {
			return fmt.Errorf("list %s: %w", gr, err)
		}
		if err := m.writeAll(ctx, gr, page.Items); err != nil {
			return err
		}
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}

// page reads one page. A list that has expired is gone on with: what was changed
// since was written anew anyway.
func (m *Migrator) page(ctx context.Context, kind schema.GroupVersionKind, token string) (*unstructured.UnstructuredList, error) {
	for attempt := 0; ; attempt++ {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := m.cfg.Live.List(ctx, list, client.Limit(PageSize), client.Continue(token))
		switch {
		case err == nil:
			return list, nil
		case apierrors.IsResourceExpired(err):
			if token, err = laterToken(err); err != nil {
				return nil, err
			}
		case !passing(err):
			return nil, err
		default:
			if err := m.pause(ctx, attempt, err); err != nil {
				return nil, err
			}
		}
	}
}

// laterToken returns the token by which an expired list can be gone on with.
func laterToken(err error) (string, error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if token := status.Status().Continue; token != "" {
			return token, nil
		}
	}
	return "", fmt.Errorf("%w: %w", errNoContinue, err)
}

// writeAll writes objects, several at once. After the first that cannot be written
// the others are left.
func (m *Migrator) writeAll(ctx context.Context, gr schema.GroupResource, objects []unstructured.Unstructured) error {
	ctx, cancel := m.cfg.Clock.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var first error
	next := 0
	take := func() *unstructured.Unstructured {
		mu.Lock()
		defer mu.Unlock()
		if next == len(objects) || first != nil || ctx.Err() != nil {
			return nil
		}
		next++
		return &objects[next-1]
	}
	group := m.cfg.Clock.NewGroup(ctx)
	for range min(m.cfg.Workers, len(objects)) {
		group.Go("rewrite "+gr.String(), func(ctx context.Context) {
			for obj := take(); obj != nil; obj = take() {
				if err := m.write(ctx, obj); err != nil {
					mu.Lock()
					if first == nil {
						first = fmt.Errorf("write %s %s: %w", gr, client.ObjectKeyFromObject(obj), err)
					}
					mu.Unlock()
					cancel()
				}
			}
		})
	}
	group.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}

// write writes an object as it is. If somebody else has written it meanwhile, what
// they wrote is read and written once more: it may have come from an API server that
// was behind.
func (m *Migrator) write(ctx context.Context, obj *unstructured.Unstructured) error {
	again := false
	for attempt := 0; ; attempt++ {
		err := m.cfg.Live.Update(ctx, obj.DeepCopy())
		switch {
		case err == nil, apierrors.IsConflict(err) && again:
			return nil
		case apierrors.IsConflict(err):
			fresh, err := m.fresh(ctx, obj)
			if err != nil || fresh == nil {
				return err
			}
			obj, again = fresh, true
			continue
		case apierrors.IsNotFound(err):
			return m.checkGone(ctx, obj, err)
		case !passing(err):
			return err
		}
		if err := m.pause(ctx, attempt, err); err != nil {
			return err
		}
	}
}

// fresh reads an object as it is stored now; nil if there is none.
func (m *Migrator) fresh(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(obj.GroupVersionKind())
	for attempt := 0; ; attempt++ {
		err := m.cfg.Live.Get(ctx, client.ObjectKeyFromObject(obj), there)
		switch {
		case err == nil:
			return there, nil
		case apierrors.IsNotFound(err):
			return nil, nil
		case !passing(err):
			return nil, fmt.Errorf("read it again: %w", err)
		}
		if err := m.pause(ctx, attempt, err); err != nil {
			return nil, err
		}
	}
}

// checkGone makes sure that an object that could not be found is not there. Where
// its namespace is gone, a write does not find it, and yet it is stored.
func (m *Migrator) checkGone(ctx context.Context, obj *unstructured.Unstructured, notFound error) error {
	there, err := m.fresh(ctx, obj)
	switch {
	case err != nil:
		return err
	case there == nil, there.GetUID() != obj.GetUID(): // gone, or made since, with the new key
		return nil
	default:
		return fmt.Errorf("%w (%w)", ErrCannotBeWritten, notFound)
	}
}

// passing reports whether a request that failed so may succeed later.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err)
}

// pause waits before the next attempt: twice as long each time, never not at all, and
// up to half as long again, so that not all come back at once.
func (m *Migrator) pause(ctx context.Context, attempt int, cause error) error {
	wait := RetryMax
	if attempt < 5 {
		wait = RetryMin << attempt
	}
	if seconds, ok := apierrors.SuggestsClientDelay(cause); ok {
		wait = max(wait, time.Duration(seconds)*time.Second)
	}
	if m.cfg.Entropy != nil {
		var b [4]byte
		if _, err := io.ReadFull(m.cfg.Entropy, b[:]); err != nil {
			return fmt.Errorf("read entropy for the time to wait: %w", err)
		}
		wait += time.Duration(int64(binary.BigEndian.Uint32(b[:])) * int64(wait/2) >> 32)
	}
	if err := m.cfg.Clock.Sleep(ctx, wait); err != nil {
		return fmt.Errorf("wait for another attempt after %w: %w", cause, err)
	}
	return nil
}
