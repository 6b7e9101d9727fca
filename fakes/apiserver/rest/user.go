package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
)

// Groups that the server puts users into.
const (
	groupAuthenticated   = "system:authenticated"
	groupUnauthenticated = "system:unauthenticated"
)

const anonymous = "system:anonymous"

// user tells who makes a request; nil is the administrator. Whoever impersonates
// somebody needs the right to.
func (h *Handler) user(r *http.Request) (*apiserver.User, error) {
	user, err := h.authenticate(r)
	if err != nil {
		return nil, err
	}
	as, err := impersonated(r.Header)
	if err != nil || as == nil {
		return user, err
	}
	if err := h.mayImpersonate(user, as); err != nil {
		return nil, err
	}
	as.Groups = impersonatedGroups(as)
	return as, nil
}

const extraHeader = "Impersonate-Extra-"

// impersonated reads the headers that name another user; nil if there are none.
func impersonated(header http.Header) (*apiserver.User, error) {
	as := &apiserver.User{
		Name: header.Get("Impersonate-User"), UID: header.Get("Impersonate-Uid"),
		Groups: slices.Clone(header.Values("Impersonate-Group")),
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if key, ok := strings.CutPrefix(name, extraHeader); ok {
			key, err := url.PathUnescape(strings.ToLower(key))
			if err != nil {
				key = strings.ToLower(name[len(extraHeader):])
			}
			if as.Extra == nil {
				as.Extra = map[string][]string{}
			}
			as.Extra[key] = slices.Clone(header[name])
		}
	}
	if as.Name != "" {
		return as, nil
	}
	if as.UID != "" || len(as.Groups) > 0 || len(as.Extra) > 0 {
		return nil, apierrors.NewInternalError(fmt.Errorf("requested %v without impersonating a user", requested(as)))
	}
	return nil, nil
}

// requested lists what is asked for beside a name.
func requested(as *apiserver.User) []string {
	var out []string
	for _, g := range as.Groups {
		out = append(out, "group "+g)
	}
	if as.UID != "" {
		out = append(out, "uid "+as.UID)
	}
	return out
}

// impersonatedGroups are those that somebody is in who is impersonated.
func impersonatedGroups(as *apiserver.User) []string {
	groups := as.Groups
	if namespace, _, err := serviceaccount.SplitUsername(as.Name); err == nil && len(groups) == 0 {
		groups = serviceaccount.MakeGroupNames(namespace)
	}
	if as.Name == anonymous {
		if !slices.Contains(groups, groupUnauthenticated) {
			groups = append(groups, groupUnauthenticated)
		}
		return groups
	}
	if !slices.Contains(groups, groupAuthenticated) && !slices.Contains(groups, groupUnauthenticated) {
		groups = append(groups, groupAuthenticated)
	}
	return groups
}

// mayImpersonate asks for permission to each part of the other user.
func (h *Handler) mayImpersonate(user, as *apiserver.User) error {
	authorizer := h.store.Authorizer()
	if user == nil || authorizer == nil {
		return nil
	}
	asked := []authz.Attributes{{Resource: "users", Name: as.Name}}
	if namespace, name, err := serviceaccount.SplitUsername(as.Name); err == nil {
		asked[0] = authz.Attributes{Resource: "serviceaccounts", Namespace: namespace, Name: name}
	}
	for _, g := range as.Groups {
		asked = append(asked, authz.Attributes{Resource: "groups", Name: g})
	}
	for _, key := range slices.Sorted(maps.Keys(as.Extra)) {
		for _, value := range as.Extra[key] {
			asked = append(asked, authz.Attributes{Group: "authentication.k8s.io", Resource: "userextras", Subresource: key, Name: value})
		}
	}
	if as.UID != "" {
		asked = append(asked, authz.Attributes{Group: "authentication.k8s.io", Resource: "uids", Name: as.UID})
	}
	for i := range asked {
		asked[i].User, asked[i].Verb = user, "impersonate"
		if ok, reason := authorizer.Authorize(&asked[i]); !ok {
			return authz.Forbidden(&asked[i], reason)
		}
	}
	return nil
}

// authenticate looks the bearer token up. Without known tokens everybody is the
// administrator.
func (h *Handler) authenticate(r *http.Request) (*apiserver.User, error) {
	if !h.known {
		return nil, nil
	}
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return &apiserver.User{Name: anonymous, Groups: []string{groupUnauthenticated}}, nil
	}
	shown, err := h.store.Authenticate(token, nil)
	if err != nil {
		return nil, errUnauthorized() // and no word about the token
	}
	return shown.User, nil
}

// publicPaths are open to everybody and discoveryPaths, with all below them, to
// everybody who is known: the rules of the default roles
// system:public-info-viewer and system:discovery.
var (
	publicPaths    = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}
	discoveryPaths = []string{"/api", "/apis", "/openapi"}
)

// mayRead asks for permission to a path that is no resource.
func (h *Handler) mayRead(r *http.Request, user *apiserver.User) error {
	authorizer := h.store.Authorizer()
	path := r.URL.Path
	if user == nil || authorizer == nil || slices.Contains(publicPaths, path) {
		return nil
	}
	if slices.Contains(user.Groups, groupAuthenticated) {
		for _, prefix := range discoveryPaths {
			if path == prefix || strings.HasPrefix(path, prefix+"/") {
				return nil
			}
		}
	}
	asked := &authz.Attributes{User: user, Verb: strings.ToLower(r.Method), Path: path}
	var forbidden error
	gone := h.gate(r.Context(), func() {
		if ok, reason := authorizer.Authorize(asked); !ok {
			forbidden = authz.Forbidden(asked, reason)
		}
	})
	if gone != nil {
		return errGone(gone)
	}
	return forbidden
}
