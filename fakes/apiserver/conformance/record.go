package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Recorder writes the answers of a server down as expectations: what differs
// from run to run becomes a symbol.
//
// While a case is being recorded the symbol of a resourceVersion is $rv and the
// very number, so that the symbols are in numeric order from the first; [Recorder.Finish]
// numbers them from 1.
type Recorder struct {
	now       time.Time
	names     *strings.Replacer // of this run, such as that of ${ns}
	versions  map[uint64]bool   // of objects seen
	uids      map[string]string // symbols
	generated []*regexp.Regexp  // names with a random end: the group is the beginning
	sent      map[string]bool   // texts and numbers that the case itself sent
	addresses map[string]bool   // that services were given
}

// NewRecorder records a conversation with the given variables; see
// [Conversation.Vars].
func NewRecorder(vars map[string]string) *Recorder {
	var pairs []string
	keys := slices.SortedFunc(maps.Keys(vars), func(a, b string) int { return len(vars[b]) - len(vars[a]) })
	for _, k := range keys { // longest first: ${ns2} begins with ${ns}
		if vars[k] != "" {
			pairs = append(pairs, vars[k], "${"+k+"}")
		}
	}
	return &Recorder{
		now: time.Now(), names: strings.NewReplacer(pairs...),
		versions: map[uint64]bool{}, uids: map[string]string{}, sent: map[string]bool{}, addresses: map[string]bool{},
	}
}

// Sending notes what a step sends: such values stay as they are.
func (r *Recorder) Sending(s *Step) {
	for _, v := range []any{s.Body, s.RawBody} {
		r.note(v)
	}
}

func (r *Recorder) note(v any) {
	switch v := v.(type) {
	case map[string]any:
		if base, ok := v["generateName"].(string); ok && base != "" {
			r.generated = append(r.generated, regexp.MustCompile(`(`+regexp.QuoteMeta(base)+`)[bcdfghjklmnpqrstvwxz2456789]{5}`))
		}
		for _, item := range v {
			r.note(item)
		}
	case []any:
		for _, item := range v {
			r.note(item)
		}
	case string:
		r.sent[v] = true
	case *string:
		if v != nil {
			r.sent[*v] = true
		}
	case nil:
	default:
		r.sent[fmt.Sprint(v)] = true
	}
}

// Answer is the expectation that the next such answer is the same as this.
func (r *Recorder) Answer(s *Step, a *Answer) *Expect {
	r.discover(a.Body)
	e := &Expect{Code: a.Code, RetryAfterHeader: a.RetryAfter}
	for _, w := range a.Warnings {
		e.Warnings = append(e.Warnings, r.message(w))
	}
	body, isObject := a.Body.(map[string]any)
	switch {
	case s.Verb == "watch" && a.Body == nil && a.Text == "":
	case !isObject:
		text := r.message(a.Text)
		e.Text = &text
	case body["kind"] == "Status":
		e.Status = r.status(body)
	default:
		exact := s.Query["resourceVersionMatch"] == "Exact"
		e.Fields = map[string]any{"*": r.body(body, exact)}
	}
	return e
}

// Events is the expectation that a watch gets the same events.
func (r *Recorder) Events(events []Event, ended bool) *Expect {
	e := &Expect{Ended: ended}
	for _, ev := range events {
		r.discover(ev.Object)
		object, _ := ev.Object.(map[string]any)
		out := ExpectEvent{Type: ev.Type}
		switch {
		case object["kind"] == "Status":
			out.Status = r.status(object)
		case ev.Type == "BOOKMARK":
			out.Fields = map[string]any{"*": r.floored(object)}
		default:
			out.Fields = map[string]any{"*": r.body(object, false)}
		}
		e.Events = append(e.Events, out)
	}
	return e
}

// discover notes the uids in an answer: they may stand in other fields as well,
// before these.
func (r *Recorder) discover(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			r.discover(item)
		}
	case map[string]any:
		if uid, ok := v["uid"].(string); ok && v["creationTimestamp"] != nil {
			r.uid(uid)
		}
		if ip, ok := v["clusterIP"].(string); ok && !r.sent[ip] {
			if _, err := netip.ParseAddr(ip); err == nil {
				r.addresses[ip] = true
			}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			r.discover(v[k])
		}
	}
}

func (r *Recorder) status(body map[string]any) map[string]any {
	out := map[string]any{}
	for _, member := range []string{"status", "reason", "code"} {
		if v, ok := body[member]; ok {
			out[member] = v
		}
	}
	details, _ := body["details"].(map[string]any)
	causes := causeList(details["causes"])
	if text, ok := body["message"].(string); ok && text != "" {
		if len(causes) > 1 {
			text = listedCauses.ReplaceAllString(text, "[$$causes]")
		}
		out["message"] = r.message(text)
	}
	if len(details) > 0 {
		details = r.member("details", maps.Clone(details), nil).(map[string]any)
		if len(causes) > 0 {
			list := make([]any, len(causes))
			for i, cause := range causes {
				cause = maps.Clone(cause)
				for k, v := range cause {
					cause[k] = r.message(fmt.Sprint(v))
				}
				list[i] = cause
			}
			details["causes"] = list
		}
		out["details"] = details
	}
	return out
}

// listedCauses is the list of several causes in a message.
var listedCauses = regexp.MustCompile(`(?s)\[.*\]`)

// body symbolises an object or a list. An exact list has the version that was asked
// for; if that was of another list, it says no more than any.
func (r *Recorder) body(body map[string]any, exact bool) map[string]any {
	kind, _ := body["kind"].(string)
	if strings.HasSuffix(kind, "List") || kind == "Table" {
		items := r.object(body)
		if exact && r.ofObject(body) {
			return items
		}
		return r.floor(items, body)
	}
	return r.object(body)
}

// ofObject reports whether the version of a list is that of an object.
func (r *Recorder) ofObject(list map[string]any) bool {
	meta, _ := list["metadata"].(map[string]any)
	n, err := strconv.ParseUint(fmt.Sprint(meta["resourceVersion"]), 10, 64)
	return err == nil && r.versions[n]
}

func (r *Recorder) floored(object map[string]any) map[string]any {
	return r.floor(r.object(object), object)
}

// floor replaces the version of a list by the largest object version that it
// reaches.
func (r *Recorder) floor(symbols, body map[string]any) map[string]any {
	meta, _ := body["metadata"].(map[string]any)
	out, _ := symbols["metadata"].(map[string]any)
	n, err := strconv.ParseUint(fmt.Sprint(meta["resourceVersion"]), 10, 64)
	if err != nil || out == nil {
		return symbols
	}
	var most uint64
	for v := range r.versions {
		if v <= n && v > most && v != n {
			most = v
		}
	}
	out["resourceVersion"] = "$listrv"
	if most > 0 {
		out["resourceVersion"] = fmt.Sprintf(">=$rv%d", most)
	}
	return symbols
}

func (r *Recorder) object(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[r.text(k)] = r.member(k, m[k], m)
	}
	return out
}

func (r *Recorder) member(key string, v any, parent map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		return r.object(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.member(strings.TrimSuffix(key, "s"), v[i], nil)
		}
		return out
	case json.Number:
		if (key == "nodePort" || key == "healthCheckNodePort") && !r.sent[string(v)] {
			return "$nodePort"
		}
		return v
	case string:
		return r.leaf(key, v, parent)
	}
	return v
}

func (r *Recorder) leaf(key, v string, parent map[string]any) any {
	switch key {
	case "resourceVersion":
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil || n == 0 {
			return v
		}
		if _, isList := parent["creationTimestamp"]; isList || parent["name"] != nil {
			r.versions[n] = true
		}
		return "$rv" + v
	case "continue":
		if v != "" {
			return "$continue"
		}
	case "token":
		return "$jwt"
	case "clusterIP":
		if _, err := netip.ParseAddr(v); err == nil && !r.sent[v] {
			return "$ip"
		}
	}
	if r.addresses[v] {
		return "$ip"
	}
	if port := cellPort.FindStringSubmatch(v); port != nil && !r.sent[port[1]] {
		return cellPort.ReplaceAllString(v, ":$$nodePort/")
	}
	if at, err := time.Parse(time.RFC3339Nano, v); err == nil && at.Sub(r.now).Abs() < 47*time.Hour {
		return "$time"
	}
	return r.text(v)
}

func (r *Recorder) uid(v string) {
	if _, known := r.uids[v]; !known {
		r.uids[v] = fmt.Sprintf("$uid%d", len(r.uids)+1)
	}
}

// text replaces what belongs to this run within a text.
func (r *Recorder) text(s string) string {
	s = r.names.Replace(s)
	for uid, symbol := range r.uids {
		s = strings.ReplaceAll(s, uid, symbol)
	}
	for _, name := range r.generated {
		s = name.ReplaceAllString(s, "${1}$$rand5")
	}
	return s
}

var (
	messageVersion = regexp.MustCompile(`(resource ?[vV]ersion: ?|current: |ResourceVersion in (?:the precondition|record) \(|ResourceVersion in object meta: )\d+( \(\d+\))?`)
	messageTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
)

// message also replaces versions and times.
func (r *Recorder) message(s string) string {
	s = messageVersion.ReplaceAllStringFunc(s, func(m string) string {
		parts := messageVersion.FindStringSubmatch(m)
		if parts[2] != "" {
			return parts[1] + "$rv ($rv)"
		}
		return parts[1] + "$rv"
	})
	s = messageTime.ReplaceAllStringFunc(s, func(m string) string {
		if at, err := time.Parse(time.RFC3339Nano, m); err == nil && at.Sub(r.now).Abs() < 47*time.Hour && !r.sent[m] {
			return "$time"
		}
		return m
	})
	s = messageAddress.ReplaceAllString(s, "${1}$$ip")
	for ip := range r.addresses {
		s = strings.ReplaceAll(s, strconv.Quote(ip), `"$ip"`)
	}
	return r.text(s)
}

// cellPort is a node port in the cell of a table.
var cellPort = regexp.MustCompile(`:(3\d{4})/`)

var messageAddress = regexp.MustCompile(`(IPAddress\.networking\.k8s\.io ")[0-9.]+`)

var numbered = regexp.MustCompile(`\$rv\d+`)

// Finish numbers the versions of all expectations of a case from 1, in order.
func Finish(c *Case) {
	seen := map[uint64]bool{}
	visit := func(v any) any {
		return rewrite(v, func(s string) string {
			for _, symbol := range numbered.FindAllString(s, -1) {
				n, _ := strconv.ParseUint(symbol[3:], 10, 64)
				seen[n] = true
			}
			return s
		})
	}
	overExpectations(c, visit)
	rank := map[string]string{}
	for i, n := range slices.Sorted(maps.Keys(seen)) {
		rank[fmt.Sprintf("$rv%d", n)] = fmt.Sprintf("$rv%d", i+1)
	}
	overExpectations(c, func(v any) any {
		return rewrite(v, func(s string) string {
			return numbered.ReplaceAllStringFunc(s, func(symbol string) string { return rank[symbol] })
		})
	})
}

func overExpectations(c *Case, visit func(any) any) {
	asMap := func(m map[string]any) map[string]any {
		if m == nil {
			return nil
		}
		return visit(m).(map[string]any)
	}
	for i := range c.Steps {
		e := c.Steps[i].Expect
		if e == nil {
			continue
		}
		e.Fields = asMap(e.Fields)
		for j := range e.Events {
			e.Events[j].Fields = asMap(e.Events[j].Fields)
		}
	}
}

func rewrite(v any, text func(string) string) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = rewrite(v[i], text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = rewrite(item, text)
		}
		return out
	}
	return v
}
