package apiserver_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	subjectReviews = authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews")
	localReviews   = authorizationv1.SchemeGroupVersion.WithResource("localsubjectaccessreviews")
	rulesReviews   = authorizationv1.SchemeGroupVersion.WithResource("selfsubjectrulesreviews")
	selfReviews    = authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews")
	tokenReviews   = authenticationv1.SchemeGroupVersion.WithResource("tokenreviews")
)

func TestRule16AccessReviewsTellWhy(t *testing.T) {
	_, admin := asAlice(t, may("", "pods", "get"))
	review := func(user, verb string) authorizationv1.SubjectAccessReviewStatus {
		r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: verb, Resource: "pods"},
		}}
		resp := admin.must(admin.request(apiserver.Create, subjectReviews, "", body(r)))
		equal(t, "code", resp.Code, 201)
		return resp.Object.(*authorizationv1.SubjectAccessReview).Status
	}
	equal(t, "held", review("alice", "get"), authorizationv1.SubjectAccessReviewStatus{
		Allowed: true, Reason: `RBAC: allowed by RoleBinding "r/default" of Role "r" to User "alice"`,
	})
	equal(t, "not held", review("alice", "delete"), authorizationv1.SubjectAccessReviewStatus{})
	equal(t, "nothing is stored", names(admin.list(pods)), "")
}

func TestRule16AccessReviewsAreValidated(t *testing.T) {
	a := newAPI(t)
	attributes := &authorizationv1.ResourceAttributes{Namespace: "other", Verb: "get", Resource: "pods"}
	a.refused(a.request(apiserver.Create, subjectReviews, "", body(&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "u"}})), 422, "Invalid",
		`.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified`)
	a.refused(a.request(apiserver.Create, subjectReviews, "", body(&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes}})), 422, "Invalid",
		`.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified`)
	a.refused(a.request(apiserver.Create, localReviews, "", body(&authorizationv1.LocalSubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "u", ResourceAttributes: attributes}})), 422, "Invalid",
		`.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace`)
	a.refused(a.request(apiserver.List, subjectReviews, ""), 405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}

func TestRule16RulesReviewListsWhatIsHeld(t *testing.T) {
	a, admin := asAlice(t, may("", "pods", "get"), may(authorizationv1.GroupName, "selfsubjectrulesreviews", "create"))
	_ = admin
	masters := *a
	masters.user = &apiserver.User{Name: "alice", Groups: []string{"system:masters"}}
	r := masters.create(rulesReviews, &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, in(""))
	got := r.(*authorizationv1.SelfSubjectRulesReview).Status
	equal(t, "rules", got.ResourceRules[0], authorizationv1.ResourceRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}})
	equal(t, "complete", got.Incomplete, false)
	masters.refused(masters.request(apiserver.Create, rulesReviews, "", in(""), body(&authorizationv1.SelfSubjectRulesReview{})), 400, "BadRequest", "no namespace on request")
}

func TestRule16WhoAmI(t *testing.T) {
	a := newAPI(t)
	a.user = &apiserver.User{Name: "u", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	got := a.create(selfReviews, &authenticationv1.SelfSubjectReview{}, in("")).(*authenticationv1.SelfSubjectReview)
	equal(t, "user", got.Status.UserInfo, authenticationv1.UserInfo{Username: "u", UID: "1", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}})
}

func TestRule06BindingsByTheOldWay(t *testing.T) {
	a := newAPI(t)
	a.create(pods, pod("a", ""))
	bindings := corev1.SchemeGroupVersion.WithResource("bindings")
	b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}
	a.must(a.request(apiserver.Create, bindings, "", body(b)))
	equal(t, "node", a.get(pods, "a").(*corev1.Pod).Spec.NodeName, "n1")
	a.refused(a.request(apiserver.Create, bindings, "", body(b)), 409, "Conflict",
		`Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"`)
}
