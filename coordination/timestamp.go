package coordination

import (
	"strconv"
	"time"
)

// dateLayouts are the written times that ECMAScript's Date reads and that occur in logs. Go reads fractions of a
// second after any of them.
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

// ParseTime reads a written time as ms since 1970. A time without a zone is UTC here: a local one would make the same
// log mean different things on different machines.
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

// formatMs writes whole milliseconds as ECMAScript writes a number of that size.
func formatMs(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 64) }
