package rest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

// who asks, with the given headers, who the caller is.
func who(t *testing.T, h http.RoundTripper, header map[string]string) (int, authenticationv1.UserInfo, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://x/apis/authentication.k8s.io/v1/selfsubjectreviews", strings.NewReader(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`))
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := h.RoundTrip(r)
	must(t, err)
	defer resp.Body.Close()
	var got struct {
		authenticationv1.SelfSubjectReview
		Message string
	}
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	_ = json.Unmarshal(data, &got) // a refusal has no userInfo
	var status struct{ Message string }
	_ = json.Unmarshal(data, &status)
	return resp.StatusCode, got.Status.UserInfo, status.Message
}

func guarded() *rest.Handler {
	server := apiserver.New(apiserver.Options{RBAC: true, DefaultRoles: true})
	return rest.New(server, rest.WithTokens(map[string]*apiserver.User{
		"root":  nil,
		"alice": {Name: "alice", Groups: []string{"system:authenticated"}},
	}))
}

func TestTokensOfServiceAccounts(t *testing.T) {
	h := guarded()
	send := func(path, body string) string {
		r := httptest.NewRequest(http.MethodPost, "http://x"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer root")
		resp, err := h.RoundTrip(r)
		must(t, err)
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		must(t, err)
		return string(data)
	}
	send("/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"a"}}`)
	var req authenticationv1.TokenRequest
	must(t, json.Unmarshal([]byte(send("/api/v1/namespaces/default/serviceaccounts/a/token", `{}`)), &req))
	code, got, _ := who(t, h, map[string]string{"Authorization": "Bearer " + req.Status.Token})
	if code != 201 || got.Username != "system:serviceaccount:default:a" {
		t.Errorf("got %d %+v", code, got)
	}
	broken := req.Status.Token[:len(req.Status.Token)-8] + "AAAAAAAA"
	if code, _, message := who(t, h, map[string]string{"Authorization": "Bearer " + broken}); code != 401 || message != "Unauthorized" {
		t.Errorf("a forged token: %d %s", code, message)
	}
}

func TestWhoMayBeImpersonated(t *testing.T) {
	h := guarded()
	for name, tc := range map[string]struct {
		header  map[string]string
		code    int
		user    authenticationv1.UserInfo
		message string
	}{
		"a user": {
			map[string]string{"Authorization": "Bearer root", "Impersonate-User": "bob"}, 201,
			authenticationv1.UserInfo{Username: "bob", Groups: []string{"system:authenticated"}}, "",
		},
		"a service account is in its groups": {
			map[string]string{"Authorization": "Bearer root", "Impersonate-User": "system:serviceaccount:x:y"}, 201,
			authenticationv1.UserInfo{Username: "system:serviceaccount:x:y", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:x", "system:authenticated"}}, "",
		},
		"with uid and extra": {
			map[string]string{"Authorization": "Bearer root", "Impersonate-User": "bob", "Impersonate-Uid": "7", "Impersonate-Extra-Acme%2fscope": "all"}, 201,
			authenticationv1.UserInfo{Username: "bob", UID: "7", Groups: []string{"system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"acme/scope": {"all"}}}, "",
		},
		"without the right": {
			map[string]string{"Authorization": "Bearer alice", "Impersonate-User": "bob"}, 403, authenticationv1.UserInfo{},
			`users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope`,
		},
	} {
		code, user, message := who(t, h, tc.header)
		if diff := cmp.Diff(tc.user, user); code != tc.code || message != tc.message || diff != "" {
			t.Errorf("%s: got %d %s, want %d %s\n%s", name, code, message, tc.code, tc.message, diff)
		}
	}
}
