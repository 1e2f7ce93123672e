// Package jsdate parses the dates that programs in JavaScript write into logs.
package jsdate

import "time"

// layouts are the formats of ECMAScript's Date that occur in logs. Go accepts fractions of a second after any of them.
var layouts = [...]string{
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

// Parse parses a date as ms since 1970. One without a zone is UTC; JavaScript would use local time, so the meaning of a
// log would depend on the machine.
func Parse(s string) (ms int64, ok bool) {
	if s == "" {
		return 0, false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}
