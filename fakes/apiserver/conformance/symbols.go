package conformance

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// symbols binds the symbols of one case to the values of one run.
type symbols struct {
	now    time.Time
	bound  map[string]string // "$rv1" to "17"
	owner  map[string]string // "rv 17" to "$rv1"
	floors []floor
}

// floor is one ">=$rv2": value must be at least what $rv2 is bound to, which
// may only be known later in the case.
type floor struct {
	symbol string
	value  uint64
	place  string
}

func newSymbols(now time.Time) *symbols {
	return &symbols{now: now, bound: map[string]string{}, owner: map[string]string{}}
}

// symbolText finds the symbols in a recorded string.
var symbolText = regexp.MustCompile(`>=\$rv\d+|\$listrv|\$rv\d*|\$uid\d+|\$time|\$rand5|\$ip|\$nodePort|\$continue|\$jwt|\[\$causes\]`)

// hasSymbol tells whether comparing s needs more than equality.
func hasSymbol(s string) bool {
	return strings.Contains(s, "$") && symbolText.MatchString(s)
}

// match compares a recorded string with what came, binding symbols. The
// returned text is empty, or says why not.
func (sy *symbols) match(place, want, got string) string {
	pattern, names := sy.pattern(want)
	values := pattern.FindStringSubmatch(got)
	if values == nil {
		return "does not have that form"
	}
	for i, name := range names {
		if why := sy.bind(place, name, values[i+1]); why != "" {
			return why
		}
	}
	return ""
}

// pattern turns a recorded string into an expression with one group per symbol.
func (sy *symbols) pattern(want string) (*regexp.Regexp, []string) {
	var expr strings.Builder
	var names []string
	expr.WriteString(`(?s)\A`)
	at := 0
	for _, loc := range symbolText.FindAllStringIndex(want, -1) {
		name := want[loc[0]:loc[1]]
		expr.WriteString(regexp.QuoteMeta(want[at:loc[0]]))
		expr.WriteString("(" + symbolForm(name) + ")")
		names = append(names, name)
		at = loc[1]
	}
	expr.WriteString(regexp.QuoteMeta(want[at:]) + `\z`)
	return regexp.MustCompile(expr.String()), names
}

func symbolForm(name string) string {
	switch strings.TrimRight(name, "0123456789") {
	case "$uid":
		return `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	case "$time":
		return `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`
	case "$rand":
		return `[bcdfghjklmnpqrstvwxz2456789]{5}`
	case "$ip":
		return `[0-9a-f.:]+`
	case "$continue":
		return `[A-Za-z0-9_=-]+`
	case "$jwt":
		return `[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`
	case "[$causes]":
		return `\[.*\]`
	}
	return `\d+`
}

func (sy *symbols) bind(place, name, value string) string {
	switch {
	case name == "$time":
		at, err := time.Parse(time.RFC3339Nano, value)
		if err != nil || at.Sub(sy.now).Abs() > 48*time.Hour {
			return fmt.Sprintf("time %s is not within 48h of %s", value, sy.now.UTC().Format(time.RFC3339))
		}
	case name == "$ip":
		if _, err := netip.ParseAddr(value); err != nil {
			return "is no IP address"
		}
	case name == "$nodePort":
		if n, _ := strconv.Atoi(value); n < 30000 || n > 32767 {
			return "is not in 30000-32767"
		}
	case strings.HasPrefix(name, ">="):
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return "is no number"
		}
		sy.floors = append(sy.floors, floor{symbol: name[2:], value: n, place: place})
	case strings.HasPrefix(name, "$rv") && name != "$rv":
		return sy.unify("rv", name, value)
	case strings.HasPrefix(name, "$uid"):
		return sy.unify("uid", name, value)
	}
	return ""
}

// unify keeps symbols and values of one class one to one.
func (sy *symbols) unify(class, name, value string) string {
	if old, ok := sy.bound[name]; ok {
		if old != value {
			return fmt.Sprintf("%s was %s before, now %s", name, old, value)
		}
		return ""
	}
	if other, ok := sy.owner[class+" "+value]; ok {
		return fmt.Sprintf("%s must differ from %s, both are %s", name, other, value)
	}
	if class == "rv" {
		if why := sy.ordered(name, value); why != "" {
			return why
		}
	}
	sy.bound[name], sy.owner[class+" "+value] = value, name
	return ""
}

// ordered tells how value would break $rv1 < $rv2 < … if name were bound to it.
func (sy *symbols) ordered(name, value string) string {
	index, _ := strconv.Atoi(strings.TrimPrefix(name, "$rv"))
	v, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return "is no number"
	}
	var broken []string
	for other, text := range sy.bound {
		number, isRV := strings.CutPrefix(other, "$rv")
		if !isRV {
			continue
		}
		i, _ := strconv.Atoi(number)
		o, _ := strconv.ParseUint(text, 10, 64)
		if (i < index) != (o < v) {
			broken = append(broken, fmt.Sprintf("%s=%s", other, text))
		}
	}
	if len(broken) == 0 {
		return ""
	}
	slices.Sort(broken)
	return fmt.Sprintf("%s=%s is out of order with %s", name, value, strings.Join(broken, ", "))
}

// unmet lists the ">=$rvN" that do not hold. A symbol never bound holds
// nothing back: the step that should have bound it has failed already.
func (sy *symbols) unmet() []Difference {
	var out []Difference
	for _, f := range sy.floors {
		least, err := strconv.ParseUint(sy.bound[f.symbol], 10, 64)
		if err == nil && f.value < least {
			out = append(out, Difference{
				Field: f.place, Want: fmt.Sprintf(">=%s (%d)", f.symbol, least), Got: strconv.FormatUint(f.value, 10),
			})
		}
	}
	return out
}
