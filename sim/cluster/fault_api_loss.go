package cluster

// The two ways in which a request goes without an answer. The client cannot
// tell them apart: whether a write was applied is open in both.

var lossKnobs = []Knob{{"verb, key", "which requests"}}

var _ = register(FaultKind{
	Name:    "api-loss-request",
	Meaning: "The connection breaks before the API server has read the request: nothing is applied, and the client gets no answer.",
	Sites:   []Site{SiteSend},
	Strikes: "process",
	Knobs:   lossKnobs,
	Default: Fault{Rate: 10_000},
	call:    func(r *request, s *site) { r.sever(s, "its request is lost on the way to the API server") },
})

var _ = register(FaultKind{
	Name:    "api-loss-response",
	Meaning: "The connection breaks after the API server has carried out the request: it is applied, and the client gets no answer.",
	Sites:   []Site{SiteReply},
	Strikes: "process",
	Knobs:   lossKnobs,
	Default: Fault{Rate: 10_000},
	call:    func(r *request, s *site) { r.sever(s, "the answer is lost on the way back") },
})

// sever cuts the connection: it breaks visibly, or goes silent.
func (r *request) sever(s *site, what string) {
	how := reset
	if s.spans.Intn(2) == 1 {
		how = silent
	}
	r.cut = how
	r.struck(s, 0, what)
}
