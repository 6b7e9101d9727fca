package apiserver_test

import (
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var serviceAccounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")

// token asks for a token of the account a.
func (a *api) token(change ...func(*authenticationv1.TokenRequestSpec)) *authenticationv1.TokenRequest {
	a.Helper()
	req := &authenticationv1.TokenRequest{}
	for _, f := range change {
		f(&req.Spec)
	}
	return a.must(a.request(apiserver.Create, serviceAccounts, "a", sub("token"), body(req))).Object.(*authenticationv1.TokenRequest)
}

// review asks who shows a token.
func (a *api) review(token string, audiences ...string) authenticationv1.TokenReviewStatus {
	a.Helper()
	r := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
	return a.create(tokenReviews, r, in("")).(*authenticationv1.TokenReview).Status
}

func boundTo(kind, name string) func(*authenticationv1.TokenRequestSpec) {
	return func(s *authenticationv1.TokenRequestSpec) {
		s.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name}
	}
}

func lasting(seconds int64) func(*authenticationv1.TokenRequestSpec) {
	return func(s *authenticationv1.TokenRequestSpec) { s.ExpirationSeconds = &seconds }
}

func accountAPI(t *testing.T) *api {
	a := newAPI(t)
	a.create(serviceAccounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	return a
}

func TestRule06TokensExpire(t *testing.T) {
	a := accountAPI(t)
	req := a.token()
	equal(t, "expiry", req.Status.ExpirationTimestamp.Time, a.clock.now.Truncate(time.Second).Add(time.Hour))
	got := a.review(req.Status.Token)
	equal(t, "user", got.User.Username, "system:serviceaccount:default:a")
	equal(t, "groups", got.User.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"})
	equal(t, "a token has an id", len(got.User.Extra["authentication.kubernetes.io/credential-id"]), 1)
	a.clock.now = a.clock.now.Add(time.Hour + time.Minute - time.Second)
	equal(t, "within the leeway", a.review(req.Status.Token).Authenticated, true)
	a.clock.now = a.clock.now.Add(2 * time.Second)
	equal(t, "after it", a.review(req.Status.Token), authenticationv1.TokenReviewStatus{
		Error: "[invalid bearer token, service account token has expired]",
	})
}

func TestRule06TokensAreForTheirAudience(t *testing.T) {
	a := accountAPI(t)
	token := a.token(func(s *authenticationv1.TokenRequestSpec) { s.Audiences = []string{"vault", "other"} }).Status.Token
	equal(t, "here", a.review(token).Authenticated, false)
	equal(t, "there", a.review(token, "vault", "nobody").Audiences, []string{"vault"})
}

func TestRule06TokensDieWithWhatTheyAreBoundTo(t *testing.T) {
	a := accountAPI(t)
	p := pod("p", "n1")
	p.Spec.ServiceAccountName = "a"
	p.UID = ""
	a.create(pods, p)
	a.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
	ofPod, ofSecret, ofAccount := a.token(boundTo("Pod", "p")).Status.Token, a.token(boundTo("Secret", "s")).Status.Token, a.token().Status.Token
	extra := a.review(ofPod).User.Extra
	equal(t, "pod", extra["authentication.kubernetes.io/pod-name"], authenticationv1.ExtraValue{"p"})
	equal(t, "node", extra["authentication.kubernetes.io/node-name"], authenticationv1.ExtraValue{"n1"})
	invalidated := authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, service account token has been invalidated]"}
	a.delete(pods, "p", grace(0))
	equal(t, "without the pod", a.review(ofPod), invalidated)
	a.delete(secrets, "s")
	equal(t, "without the secret", a.review(ofSecret), invalidated)
	a.delete(serviceAccounts, "a")
	equal(t, "without the account", a.review(ofAccount), authenticationv1.TokenReviewStatus{Error: `[invalid bearer token, serviceaccounts "a" not found]`})
	a.create(serviceAccounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	equal(t, "another account of that name", a.review(ofAccount).Authenticated, false)
}

// TestRule06ProjectedTokensLiveOn: a pod's token may be used for a year, by programs
// that never read it again, though it says that it lasts an hour.
func TestRule06ProjectedTokensLiveOn(t *testing.T) {
	a := accountAPI(t)
	p := pod("p", "n1")
	p.Spec.ServiceAccountName = "a"
	a.create(pods, p)
	projected := a.token(boundTo("Pod", "p"), lasting(3607))
	equal(t, "promised", projected.Status.ExpirationTimestamp.Time, a.clock.now.Truncate(time.Second).Add(3607*time.Second))
	a.clock.now = a.clock.now.Add(300 * 24 * time.Hour)
	equal(t, "kept", a.review(projected.Status.Token).Authenticated, true)
}

func TestRule06TokensAreRefused(t *testing.T) {
	a := accountAPI(t)
	a.create(pods, pod("other", ""))
	ask := func(f func(*authenticationv1.TokenRequestSpec)) *apiserver.Request {
		req := &authenticationv1.TokenRequest{}
		f(&req.Spec)
		return a.request(apiserver.Create, serviceAccounts, "a", sub("token"), body(req))
	}
	a.refused(ask(lasting(599)), 422, "Invalid", `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`)
	a.refused(ask(lasting(1<<32+1)), 422, "Invalid", `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`)
	a.refused(ask(boundTo("Pod", "other")), 400, "BadRequest", `cannot bind token for serviceaccount "a" to pod running with different serviceaccount name.`)
	a.refused(ask(boundTo("ConfigMap", "c")), 400, "BadRequest", `cannot bind token to object of type /v1, Kind=ConfigMap`)
	a.refused(ask(func(s *authenticationv1.TokenRequestSpec) {
		boundTo("Pod", "other")(s)
		s.BoundObjectRef.Kind, s.BoundObjectRef.Name, s.BoundObjectRef.UID = "Secret", "none", "x"
	}), 404, "NotFound", `secrets "none" not found`)
}

// TestRule06TokensAreTheSameInEveryRun is what makes a run that shows them replay.
func TestRule06TokensAreTheSameInEveryRun(t *testing.T) {
	first, second := accountAPI(t).token().Status.Token, accountAPI(t).token().Status.Token
	equal(t, "token", second, first)
	a := accountAPI(t)
	forged := first[:strings.LastIndexByte(first, '.')+1] + strings.Repeat("A", 86)
	equal(t, "forged", a.review(forged), authenticationv1.TokenReviewStatus{Error: "invalid bearer token"})
}
