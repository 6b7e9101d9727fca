package report

import (
	"fmt"
	"time"
)

// clockText prints virtual time as hours if there are any, minutes, seconds and
// milliseconds.
func clockText(d time.Duration) string {
	ms := d.Milliseconds()
	if h := ms / 3_600_000; h > 0 {
		return fmt.Sprintf("%d:%02d:%02d.%03d", h, ms/60_000%60, ms/1000%60, ms%1000)
	}
	return fmt.Sprintf("%d:%02d.%03d", ms/60_000, ms/1000%60, ms%1000)
}
