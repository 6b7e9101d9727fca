package cluster

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
)

// logSink writes log lines of a process into the trace: the message is the verb
// of a "sys" event, its values are words of the story only.
type logSink struct {
	proc   *Process
	name   string
	values []any
}

var _ logr.LogSink = (*logSink)(nil)

func (s *logSink) Init(logr.RuntimeInfo) {}

// Enabled keeps V(0) and V(1); chattier lines are dropped.
func (s *logSink) Enabled(level int) bool { return level <= 1 }

func (s *logSink) Info(_ int, msg string, kv ...any) { s.write("log", msg, nil, kv) }

func (s *logSink) Error(err error, msg string, kv ...any) { s.write("error", msg, err, kv) }

func (s *logSink) WithValues(kv ...any) logr.LogSink {
	n := *s
	n.values = append(s.values[:len(s.values):len(s.values)], kv...)
	return &n
}

func (s *logSink) WithName(name string) logr.LogSink {
	n := *s
	if n.name != "" {
		name = n.name + "." + name
	}
	n.name = name
	return &n
}

func (s *logSink) write(verb, msg string, err error, kv []any) {
	c := s.proc.cluster
	detail := ""
	if c.full {
		detail = s.text(msg, err, kv)
	}
	c.emit("sys", s.proc.name, verb, msg, 0, detail)
}

func (s *logSink) text(msg string, err error, kv []any) string {
	var b strings.Builder
	b.WriteString("says: ")
	if s.name != "" {
		b.WriteString(s.name + ": ")
	}
	b.WriteString(msg)
	if err != nil {
		fmt.Fprintf(&b, ": %v", err)
	}
	for _, list := range [][]any{s.values, kv} {
		for i := 0; i+1 < len(list); i += 2 {
			fmt.Fprintf(&b, " %v=%v", list[i], list[i+1])
		}
	}
	return b.String()
}
