package kube

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Grant is rules for a namespace, or for the cluster if that is empty.
type Grant struct {
	Namespace string
	Rules     []rbacv1.PolicyRule
}

// named is how many permissions that are missing an error names.
const named = 3

// CheckPermissions asks the API server whether this account may do all that is granted
// in the declarations of core, and returns an error that names what it may not.
func (c *Cluster) CheckPermissions(ctx context.Context, grants ...Grant) error {
	var missing []string
	for _, g := range grants {
		for i := range g.Rules {
			for _, spec := range questions(g.Namespace, &g.Rules[i]) {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: spec}
				if err := c.live.Create(ctx, review); err != nil {
					return fmt.Errorf("ask what this account may do: %w", err)
				}
				if !review.Status.Allowed {
					missing = append(missing, inWords(&spec))
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	more := ""
	if n := len(missing) - named; n > 0 {
		missing, more = missing[:named], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("this account may not %s%s: bind the roles of realmode/deploy to it", strings.Join(missing, ", nor "), more)
}

// questions are what a rule allows, one by one.
func questions(namespace string, rule *rbacv1.PolicyRule) []authorizationv1.SelfSubjectAccessReviewSpec {
	var all []authorizationv1.SelfSubjectAccessReviewSpec
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			all = append(all, authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: url, Verb: verb}})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				for _, name := range names {
					all = append(all, authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name,
					}})
				}
			}
		}
	}
	return all
}

// inWords tells what is asked for, as in: update secrets/tls in app.
func inWords(spec *authorizationv1.SelfSubjectAccessReviewSpec) string {
	if n := spec.NonResourceAttributes; n != nil {
		return n.Verb + " " + n.Path
	}
	a := spec.ResourceAttributes
	text := a.Verb + " " + a.Resource
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Name != "" {
		text += fmt.Sprintf(" %q", a.Name)
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text
}

// unversioned returns a client of paths that are of no group.
func unversioned(cfg *rest.Config, client *http.Client) (*rest.RESTClient, error) {
	cfg.NegotiatedSerializer = clientscheme.Codecs.WithoutConversion()
	api, err := rest.UnversionedRESTClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return api, nil
}
