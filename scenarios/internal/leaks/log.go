package leaks

import (
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
)

// Log returns a log with a reader in between: it is given each line as every printer
// might print it, and then the line goes where it would have gone.
func Log(log logr.Logger, read func(line []byte)) logr.Logger {
	return logr.New(readingSink{log.GetSink(), read})
}

// readingSink passes on what it has read.
type readingSink struct {
	logr.LogSink
	reader func(line []byte)
}

// Info implements logr.LogSink.
func (r readingSink) Info(level int, msg string, kv ...any) {
	r.read(msg, nil, kv)
	r.LogSink.Info(level, msg, kv...)
}

// Error implements logr.LogSink.
func (r readingSink) Error(err error, msg string, kv ...any) {
	r.read(msg, err, kv)
	r.LogSink.Error(err, msg, kv...)
}

// WithValues implements logr.LogSink.
func (r readingSink) WithValues(kv ...any) logr.LogSink {
	r.read("", nil, kv)
	r.LogSink = r.LogSink.WithValues(kv...)
	return r
}

// WithName implements logr.LogSink.
func (r readingSink) WithName(name string) logr.LogSink {
	r.LogSink = r.LogSink.WithName(name)
	return r
}

// read reads a line. What hides its content from one printer may show it to another.
func (r readingSink) read(msg string, err error, kv []any) {
	line := append([]byte(msg), ' ')
	if err != nil {
		line = fmt.Append(line, err)
	}
	for _, v := range kv {
		if text, plain := v.(string); plain {
			line = append(append(line, ' '), text...) // every printer prints it so
			continue
		}
		line = fmt.Appendf(line, " %v %+v %s %x", v, v, v, v)
		if encoded, e := json.Marshal(v); e == nil {
			line = append(line, encoded...)
		}
	}
	r.reader(line)
}
