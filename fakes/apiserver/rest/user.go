package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
)

// Groups that the server puts users into.
const (
	groupAuthenticated   = "system:authenticated"
	groupUnauthenticated = "system:unauthenticated"
)

// user tells who makes a request; nil is the administrator.
func (h *Handler) user(r *http.Request) (*apiserver.User, error) {
	user, err := h.authenticate(r)
	if err != nil {
		return nil, err
	}
	name := r.Header.Get("Impersonate-User")
	if name == "" {
		return user, nil
	}
	groups := append([]string(nil), r.Header.Values("Impersonate-Group")...)
	for _, group := range groups {
		if group == groupAuthenticated || group == groupUnauthenticated {
			return &apiserver.User{Name: name, Groups: groups}, nil
		}
	}
	return &apiserver.User{Name: name, Groups: append(groups, groupAuthenticated)}, nil
}

// authenticate looks the bearer token up. Without known tokens everybody is the
// administrator.
func (h *Handler) authenticate(r *http.Request) (*apiserver.User, error) {
	if h.tokens == nil {
		return nil, nil
	}
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return &apiserver.User{Name: "system:anonymous", Groups: []string{groupUnauthenticated}}, nil
	}
	user, known := h.tokens[token]
	if !known {
		return nil, errUnauthorized()
	}
	return user, nil
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
