package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/tokens"
)

// Service accounts get tokens from the subresource token. Whoever shows one is the
// account, as long as the token has not expired and the account, and the object
// that the token is bound to, exist.

const (
	defaultTokenSeconds = 60 * 60
	leastTokenSeconds   = 10 * 60
	mostTokenSeconds    = 1 << 32

	// A token for a pod that asks for a little over an hour, as the admission
	// plug-in does, is accepted for a year, for clients that never read it again.
	projectedTokenSeconds = 60*60 + 7
	extendedTokenSeconds  = 365 * 24 * 60 * 60
)

var tokenRequestKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// apiAudiences are those of tokens for this server.
func apiAudiences() []string { return []string{tokens.URL} }

// issueToken serves serviceaccounts/token.
func (c *call) issueToken() (*Response, error) {
	if err := c.checkWriteOptions("CreateOptions"); err != nil {
		return nil, err
	}
	req := &authenticationv1.TokenRequest{}
	if err := c.readInto(req, tokenRequestKind); err != nil {
		return nil, err
	}
	if err := c.placeIn(req); err != nil {
		return nil, err
	}
	if req.Spec.ExpirationSeconds == nil {
		hour := int64(defaultTokenSeconds)
		req.Spec.ExpirationSeconds = &hour
	}
	c.ownFresh(req, tokenRequestKind)
	if err := c.admitPart(admission.Create, req, nil, tokenRequestKind); err != nil {
		return nil, err
	}
	account, err := c.tokenAccount(req)
	if err != nil {
		return nil, err
	}
	req.Name, req.Namespace, req.UID = account.Name, account.Namespace, account.UID
	req.CreationTimestamp = c.now()
	req.Status = authenticationv1.TokenRequestStatus{}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = apiAudiences()
	}
	if errs := validateTokenRequest(&req.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequestKind.GroupKind(), "", errs)
	}
	if err := c.validatePart(admission.Create, req, nil, tokenRequestKind); err != nil {
		return nil, err
	}
	claims := tokens.Claims{
		Audiences: req.Spec.Audiences, ID: string(c.store.newUID()), Subject: serviceaccount.MakeUsername(account.Namespace, account.Name),
		Private: tokens.Kubernetes{Namespace: account.Namespace, Account: refTo(account)},
	}
	if err := c.bindToken(&claims.Private, req.Spec.BoundObjectRef, account.Name); err != nil {
		return nil, err
	}
	asked := *req.Spec.ExpirationSeconds
	lasts := asked
	if claims.Private.Pod != nil && asked == projectedTokenSeconds && forServer(req.Spec.Audiences) {
		lasts = extendedTokenSeconds
		claims.Private.WarnAfter = c.store.opts.Clock.Now().Add(seconds(asked)).Unix()
	}
	req.Status.ExpirationTimestamp = metav1.Time{Time: req.CreationTimestamp.Add(seconds(asked))}
	req.Status.Token, err = c.store.issuer.Issue(claims, seconds(lasts))
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	return &Response{Code: http.StatusCreated, Object: req}, nil
}

// tokenAccount returns the account of a request, which may name it once more.
func (c *call) tokenAccount(req *authenticationv1.TokenRequest) (*corev1.ServiceAccount, error) {
	var errs field.ErrorList
	metadata := field.NewPath("metadata")
	switch {
	case req.Name != "" && req.Name != c.req.Name:
		errs = append(errs, field.Invalid(metadata.Child("name"), req.Name, "must match the service account name if specified"))
	case req.Namespace != "" && req.Namespace != c.ns:
		errs = append(errs, field.Invalid(metadata.Child("namespace"), req.Namespace, "must match the service account namespace if specified"))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequestKind.GroupKind(), c.req.Name, errs)
	}
	o, ok, err := c.load(c.key())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.errNotFound()
	}
	account := o.(*corev1.ServiceAccount)
	if req.UID != "" && req.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: tokenRequestKind.Group, Resource: tokenRequestKind.Kind}, c.req.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", req.UID, account.UID))
	}
	return account, nil
}

func validateTokenRequest(spec *authenticationv1.TokenRequestSpec) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "expirationSeconds")
	if n := *spec.ExpirationSeconds; n < leastTokenSeconds {
		errs = append(errs, field.Invalid(p, n, "may not specify a duration less than 10 minutes"))
	} else if n > mostTokenSeconds {
		errs = append(errs, field.Invalid(p, n, "may not specify a duration larger than 2^32 seconds"))
	}
	return errs
}

func forServer(audiences []string) bool {
	for _, a := range audiences {
		if !slices.Contains(apiAudiences(), a) {
			return false
		}
	}
	return true
}

func refTo(o Object) tokens.Ref { return tokens.Ref{Name: o.GetName(), UID: string(o.GetUID())} }

// bindToken notes the object that a token is bound to.
func (c *call) bindToken(claims *tokens.Kubernetes, ref *authenticationv1.BoundObjectReference, account string) error {
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	var bound Object
	var err error
	switch {
	case gvk.Group == "" && gvk.Kind == "Pod":
		if bound, err = c.boundObject("pods", c.ns, ref.Name); err != nil {
			return err
		}
		pod := bound.(*corev1.Pod)
		if pod.Spec.ServiceAccountName != account {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account))
		}
		claims.Pod = &tokens.Ref{Name: pod.Name, UID: string(pod.UID)}
		claims.Node = c.nodeOf(pod)
	case gvk.Group == "" && gvk.Kind == "Node":
		if bound, err = c.boundObject("nodes", "", ref.Name); err != nil {
			return err
		}
		node := refTo(bound)
		claims.Node = &node
	case gvk.Group == "" && gvk.Kind == "Secret":
		if bound, err = c.boundObject("secrets", c.ns, ref.Name); err != nil {
			return err
		}
		secret := refTo(bound)
		claims.Secret = &secret
	case gvk.Group == "admissionregistration.k8s.io":
		return errNotModelled("tokens that are bound to webhook configurations")
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk.String()))
	}
	if ref.UID != "" && bound.GetUID() != ref.UID {
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

func (c *call) boundObject(plural, namespace, name string) (Object, error) {
	gr := schema.GroupResource{Resource: plural}
	o, ok := peers{c.store}.Peer(gr, namespace, name)
	if !ok {
		return nil, apierrors.NewNotFound(gr, name)
	}
	return o, nil
}

// nodeOf is the node of a pod, by name alone if the node does not exist.
func (c *call) nodeOf(pod *corev1.Pod) *tokens.Ref {
	if pod.Spec.NodeName == "" {
		return nil
	}
	ref := &tokens.Ref{Name: pod.Spec.NodeName}
	if node, err := c.boundObject("nodes", "", pod.Spec.NodeName); err == nil {
		ref.UID = string(node.GetUID())
	}
	return ref
}

// Credentials say who shows a token, and for which of the audiences that were
// asked for it is good.
type Credentials struct {
	User      *User // nil: the cluster administrator
	Audiences []string
}

// Trust makes bearer tokens known, beside those of service accounts. A nil User is
// the cluster administrator. It is called before requests are made.
func (st *Store) Trust(known map[string]*User) { st.trusted = known }

// Authenticate says who shows a bearer token. No audiences means the server's own.
// The error tells why the token is refused, and nothing of the token.
func (st *Store) Authenticate(token string, audiences []string) (*Credentials, error) {
	if len(audiences) == 0 {
		audiences = apiAudiences()
	}
	if u, ok := st.trusted[token]; ok {
		if good := intersection(audiences, apiAudiences()); len(good) > 0 {
			return &Credentials{User: u, Audiences: good}, nil
		}
	}
	claims, good, err := st.issuer.Check(token, audiences)
	if errors.Is(err, tokens.ErrForeign) {
		return nil, err
	}
	if err == nil {
		err = st.checkClaims(&claims.Private)
	}
	if err != nil {
		return nil, fmt.Errorf("[invalid bearer token, %w]", err)
	}
	k := &claims.Private
	info := serviceaccount.ServiceAccountInfo{
		Name: k.Account.Name, Namespace: k.Namespace, UID: k.Account.UID, CredentialID: "JTI=" + claims.ID,
	}
	if k.Pod != nil {
		info.PodName, info.PodUID = k.Pod.Name, k.Pod.UID
	}
	if k.Node != nil {
		info.NodeName, info.NodeUID = k.Node.Name, k.Node.UID
	}
	u := info.UserInfo()
	groups := append(slices.Clone(u.GetGroups()), groupAuthenticated)
	return &Credentials{User: &User{Name: u.GetName(), UID: u.GetUID(), Groups: groups, Extra: u.GetExtra()}, Audiences: good}, nil
}

const groupAuthenticated = "system:authenticated"

func intersection(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// checkClaims looks whether what a token is about still exists.
func (st *Store) checkClaims(k *tokens.Kubernetes) error {
	deadline := st.opts.Clock.Now().Add(-time.Minute) // what was deleted before it counts as gone
	find := func(plural, namespace string, ref *tokens.Ref, what, claim string, gone error) error {
		if ref == nil {
			return nil
		}
		o, ok := peers{st}.tableOf(schema.GroupResource{Resource: plural}).Get(store.Key{Namespace: namespace, Name: ref.Name})
		switch {
		case !ok:
			return gone
		case o.GetUID() != types.UID(ref.UID):
			return fmt.Errorf("%s UID (%s) does not match %s (%s)", what, o.GetUID(), claim, ref.UID)
		case o.GetDeletionTimestamp() != nil && o.GetDeletionTimestamp().Time.Before(deadline):
			if plural == "serviceaccounts" {
				return fmt.Errorf("service account %s/%s has been deleted", namespace, ref.Name)
			}
			return gone
		}
		return nil
	}
	invalidated := errors.New("service account token has been invalidated")
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, k.Account.Name)
	if err := find("serviceaccounts", k.Namespace, &k.Account, "service account", "claim", missing); err != nil {
		return err
	}
	if err := find("secrets", k.Namespace, k.Secret, "secret", "service account secret ref claim", invalidated); err != nil {
		return err
	}
	if k.Pod != nil {
		return find("pods", k.Namespace, k.Pod, "pod", "service account pod ref claim", invalidated)
	}
	return find("nodes", "", k.Node, "node", "service account node ref claim", invalidated)
}
