package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

func (c *call) get() (*Response, error) {
	if c.req.Name == "" {
		return nil, errMethod()
	}
	obj, ok, err := c.read()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.errNotFound()
	}
	return c.answer(http.StatusOK, obj, c.own.mark), nil
}

// read returns the object that the request names, as new as it asks for.
func (c *call) read() (Object, bool, error) {
	rv := c.req.ResourceVersion
	if rv == "" {
		return c.load(c.key())
	}
	wanted, err := parseVersion(rv)
	if err != nil {
		if c.ep.Uncached {
			return nil, false, errListVersion(rv, err)
		}
		return nil, false, errVersion(rv, err)
	}
	if r := c.rest.Load(); r != nil && (c.ep.Uncached || r.cache(c.ep).unready() != nil) {
		return c.load(c.key())
	}
	if visible := c.view.Seen(c.ep.table); wanted > visible {
		return nil, false, errTooLarge(c.ep, wanted, visible)
	}
	obj, mark, ok := c.view.Look(c.ep.table, c.key())
	c.own.mark = mark
	if !ok {
		return nil, false, nil
	}
	obj, err = c.ep.seen(obj)
	return obj, err == nil, err
}

// errVersion is the answer of get and watch to a resourceVersion that is none.
func errVersion(rv string, err error) error {
	return errPlain(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", rv, err))
}

// errListVersion is that of list, and of storage without a cache before it.
func errListVersion(rv string, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: resourceVersion: Invalid value: %q: %v", rv, err))
}

func (c *call) list() (*Response, error) {
	sel, err := c.selectObjects()
	if err != nil {
		return nil, err
	}
	result, err := c.find(sel)
	if err != nil {
		return nil, err
	}
	r := c.page(&result, sel)
	return r, c.handOver(r, result.Marks)
}

// page is the answer to a list.
func (c *call) page(result *store.Result, sel chosen) *Response {
	r := &Response{Code: http.StatusOK, Items: result.Objects, Shared: true}
	r.List.ResourceVersion = strconv.FormatUint(result.Revision, 10)
	if result.More {
		last := result.Objects[len(result.Objects)-1]
		r.List.Continue = encodeContinue(c.ns, last, int64(result.Revision))
		if left := int64(result.Left); sel.empty {
			r.List.RemainingItemCount = &left
		}
	}
	return r
}

// handOver makes the items of r what the request wants: in its version, with their
// managed fields, and the caller's unless shared ones will do. The marks are
// those of the items, if they matter.
func (c *call) handOver(r *Response, marks []store.Mark) error {
	if c.ep.Schema != nil {
		if err := c.ep.seeAll(r); err != nil {
			return err
		}
	}
	if c.ep.Version == nil && c.req.Shared && !c.req.ManagedFields {
		return nil
	}
	items := make([]Object, len(r.Items))
	for i, obj := range r.Items {
		var mark store.Mark
		if c.req.ManagedFields {
			mark = marks[i]
		}
		switch {
		case c.ep.Version != nil:
			items[i] = c.converted(obj, mark)
		case c.req.Shared:
			items[i] = c.show(obj, mark)
		default:
			items[i] = c.show(obj, mark).DeepCopyObject().(Object)
		}
	}
	r.Items, r.Shared = items, c.req.Shared && c.ep.Version == nil
	return nil
}

// find lists what sel selects, in the state that the request asks for:
//
//	continue token          the state of the first page, from where it stopped
//	unset                   now
//	"0"                     what the watch cache holds; a limit is ignored
//	N, Exact, or a limit    the state at N; of a single object, a limit means nothing
//	N otherwise             what the watch cache holds, if that is not older
func (c *call) find(sel chosen) (store.Result, error) {
	req := c.req
	q := store.Query{Selector: sel.Selector, Limit: int(max(req.Limit, 0)), Marked: req.ManagedFields}
	wanted, err := parseVersion(req.ResourceVersion)
	switch {
	case req.Continue != "":
		return c.resume(q)
	case err != nil:
		return store.Result{}, errListVersion(req.ResourceVersion, err)
	case req.ResourceVersion == "":
		return c.listLatest(q, sel)
	case wanted == 0:
		q.Limit = 0
		return c.listCached(q, sel)
	}
	exact := req.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		req.ResourceVersionMatch == "" && q.Limit > 0 && !c.listsOne()
	if exact {
		if now := c.store.data.Revision(); wanted > now {
			return store.Result{}, errTooLarge(c.ep, wanted, now)
		}
		q.Revision = wanted
		r, err := c.listAt(q)
		if errors.Is(err, store.ErrExpired) {
			err = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		return r, err
	}
	if q.Limit > 0 { // not older than wanted, in pages: not from the cache
		if now := c.store.data.Revision(); wanted > now {
			return store.Result{}, errTooLarge(c.ep, wanted, now)
		}
		return c.listLatest(q, sel)
	}
	if visible := c.view.Seen(c.ep.table); wanted > visible {
		return store.Result{}, errTooLarge(c.ep, wanted, visible)
	}
	return c.listCached(q, sel)
}

// listsOne reports whether a list can only be about one object, whose key is known.
func (c *call) listsOne() bool {
	return (c.ns != "" || c.ep.Cluster) && exactName(c.req) != ""
}

const continueExpired = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, or use the continue token in this response to retrieve " +
	"the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that " +
	"were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."

// resume lists the next page.
func (c *call) resume(q store.Query) (store.Result, error) {
	token, err := decodeContinue(c.req.Continue)
	if err != nil {
		return store.Result{}, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	if c.req.ResourceVersion != "" && c.req.ResourceVersion != "0" {
		return store.Result{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	q.Continue, q.After = true, token.after(c.ns)
	if token.Revision > 0 { // otherwise: go on with the state of now
		q.Revision = uint64(token.Revision)
	}
	r, err := c.listAt(q)
	if errors.Is(err, store.ErrExpired) {
		expired := apierrors.NewResourceExpired(continueExpired)
		token.Revision = -1
		expired.ErrStatus.ListMeta.Continue = token.encode()
		return r, expired
	}
	return r, err
}

// continueToken says where a list goes on. Its form is that of a real server:
// the key is relative to the namespace that is listed.
type continueToken struct {
	APIVersion string `json:"v"`
	Revision   int64  `json:"rv"`
	Start      string `json:"start"`
}

func encodeContinue(ns string, last Object, revision int64) string {
	start := last.GetName() + "\x00"
	if ns == "" && last.GetNamespace() != "" {
		start = last.GetNamespace() + "/" + start
	}
	return continueToken{APIVersion: "meta.k8s.io/v1", Revision: revision, Start: start}.encode()
}

func (t continueToken) encode() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeContinue(s string) (continueToken, error) {
	var t continueToken
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	switch {
	case err != nil:
		return t, fmt.Errorf("continue key is not valid: %w", err)
	case t.APIVersion != "meta.k8s.io/v1":
		return t, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %v", t.APIVersion)
	case t.Revision == 0:
		return t, errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return t, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	}
	return t, nil
}

// after returns the last key of the page before.
func (t continueToken) after(ns string) store.Key {
	start := strings.TrimSuffix(t.Start, "\x00")
	if ns == "" {
		if space, name, ok := strings.Cut(start, "/"); ok {
			return store.Key{Namespace: space, Name: name}
		}
		return store.Key{Name: start}
	}
	return store.Key{Namespace: ns, Name: start}
}
