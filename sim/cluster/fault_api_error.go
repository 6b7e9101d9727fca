package cluster

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Errors that API servers answer without there being anything wrong with the
// request.

var _ = register(FaultKind{
	Name:    "api-error-409",
	Meaning: "An update or patch is refused with 409 Conflict, as if somebody had changed the object in between.",
	Sites:   []Site{SiteServe},
	Strikes: "process",
	Knobs:   lossKnobs,
	Default: Fault{Rate: 20_000},
	call: func(r *request, s *site) {
		if v := r.req.Verb; v != apiserver.Update && v != apiserver.Patch {
			return
		}
		r.refuse(s, apierrors.NewConflict(r.req.Resource.GroupResource(), r.req.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again")))
	},
})

var _ = register(FaultKind{
	Name:    "api-error-429",
	Meaning: "The API server is overloaded and answers 429 Too Many Requests; the client waits as told and repeats the request.",
	Sites:   []Site{SiteServe},
	Strikes: "process",
	Knobs:   []Knob{{"limit", "seconds of Retry-After, 1 unless told; negative: no such header, so that the caller sees the error"}, lossKnobs[0]},
	Default: Fault{Rate: 20_000, Limit: 1},
	call: func(r *request, s *site) {
		r.refuse(s, apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later",
			int(max(0, s.fault.Limit))))
	},
})

var _ = register(FaultKind{
	Name:    "api-error-500",
	Meaning: "The API server loses its etcd and answers 500; a write may have been applied or not.",
	Sites:   []Site{SiteServe},
	Strikes: "process",
	Knobs:   lossKnobs,
	Default: Fault{Rate: 10_000},
	call: func(r *request, s *site) {
		r.failAmbiguously(s, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: request timed out",
		}})
	},
})

var _ = register(FaultKind{
	Name:    "api-error-timeout",
	Meaning: "The API server gives up on a request and answers 504 Timeout; a write may have been applied or not.",
	Sites:   []Site{SiteServe},
	Strikes: "process",
	Knobs:   lossKnobs,
	Default: Fault{Rate: 10_000},
	call: func(r *request, s *site) {
		r.failAmbiguously(s, apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0))
	},
})

// refuse answers err without carrying the request out.
func (r *request) refuse(s *site, err error) {
	r.err = err
	r.struck(s, code(err), "the API server answers "+outcome(err)+" to "+r.verb+" "+r.key)
}

// failAmbiguously answers err, with or without having carried the request out.
func (r *request) failAmbiguously(s *site, err error) {
	if s.spans.Intn(2) == 0 || !r.req.Verb.Write() {
		r.refuse(s, err)
		return
	}
	r.mask = err
	r.struck(s, code(err), "the API server carries out "+r.verb+" "+r.key+" and answers "+outcome(err)+" all the same")
}
