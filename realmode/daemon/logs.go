package daemon

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// Logger returns a logger of a format, text or json, at the level info.
func Logger(format string, out io.Writer) (logr.Logger, error) {
	return LoggerAt(format, "info", out)
}

// LoggerAt returns a logger of a format and of a level: error, info, or debug, which is
// V(1).
func LoggerAt(format, level string, out io.Writer) (logr.Logger, error) {
	options := &slog.HandlerOptions{}
	switch level {
	case "error":
		options.Level = slog.LevelError
	case "info":
		options.Level = slog.LevelInfo
	case "debug":
		options.Level = slog.LevelDebug
	default:
		return logr.Logger{}, Usagef("--log-level is %q: set it to error, info or debug", level)
	}
	switch format {
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(out, options)), nil
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(out, options)), nil
	default:
		return logr.Logger{}, Usagef("--log-format is %q: set it to text or json", format)
	}
}
