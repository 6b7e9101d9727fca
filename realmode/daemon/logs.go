package daemon

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
)

// Logs says what is logged, and how.
type Logs struct{ Format, Level string }

// Define defines --log-format and --log-level.
func (l *Logs) Define(f *pflag.FlagSet) {
	f.StringVar(&l.Format, "log-format", "text", "text or json")
	f.StringVar(&l.Level, "log-level", "info", "error, info, or debug")
}

// Logger returns the logger that the flags ask for. V(1) is debug.
func (l *Logs) Logger(out io.Writer) (logr.Logger, error) {
	options := &slog.HandlerOptions{}
	switch l.Level {
	case "error":
		options.Level = slog.LevelError
	case "info", "":
		options.Level = slog.LevelInfo
	case "debug":
		options.Level = slog.LevelDebug
	default:
		return logr.Logger{}, Usagef("--log-level is %q: set it to error, info or debug", l.Level)
	}
	switch l.Format {
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(out, options)), nil
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(out, options)), nil
	default:
		return logr.Logger{}, Usagef("--log-format is %q: set it to text or json", l.Format)
	}
}
