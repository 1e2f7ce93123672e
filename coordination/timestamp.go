package coordination

import (
	"strconv"
	"time"
)

// dateLayouts are the date formats of ECMAScript's Date that occur in logs. Go accepts fractions of a second after any of them.
var dateLayouts = [...]string{
	time.RFC3339,
	"2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 Z07:00",
	"2006-01-02 15:04:05",
	"2006-01-02 15:04",
	"2006-01-02",
	"2006-01",
	"2006",
	time.RFC1123,
	time.RFC1123Z,
	"Mon Jan 02 2006 15:04:05 GMT-0700",
}

// ParseTime parses a date as ms since 1970. Without a zone it is UTC, so that a log means the same on every machine.
func ParseTime(s string) (ms float64, ok bool) {
	if s == "" {
		return 0, false
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return float64(t.UnixMilli()), true
		}
	}
	return 0, false
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
