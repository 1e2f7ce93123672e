package coordination

import (
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/internal/jsdate"
)

// ParseTime parses a date as ms since 1970. Without a zone it is UTC, so that a log means the same on every machine.
func ParseTime(s string) (ms float64, ok bool) {
	at, ok := jsdate.Parse(s)
	return float64(at), ok
}

// FormatTime formats ms since 1970 as ECMAScript's toISOString does; 0 is "".
func FormatTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// formatMs formats whole milliseconds as ECMAScript formats such a number.
func formatMs(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 64) }
