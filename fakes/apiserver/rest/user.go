package rest

import (
	"net/http"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
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
