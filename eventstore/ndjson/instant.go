package ndjson

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/internal/jsdate"
)

// maxInstant is the range of a JavaScript date, in ms on both sides of 1970.
const maxInstant = 8_640_000_000_000_000

// instant returns when a record happened, in ms since 1970: timestampMs, else ts, each a number or a numeric string,
// else timestamp, a written date. Fractions are floored. A time of 0, or outside the range of a JavaScript date,
// counts as missing. Exact reports that ts states the same value as an integer.
func (r *record) instant() (ms int64, exact, ok bool) {
	for _, f := range [...]field{fieldTimestampMs, fieldTS} {
		value := r.value(f)
		if ms, ok = milliseconds(value); ok {
			n, err := strconv.ParseInt(string(value), 10, 64)
			return ms, f == fieldTS && err == nil && n == ms, true
		}
	}
	s, _ := unquote(r.value(fieldTimestamp))
	ms, ok = jsdate.Parse(strings.TrimFunc(s, isSpace))
	return ms, false, ok && usable(ms)
}

// milliseconds parses a JSON number, or a string that holds one.
func milliseconds(value []byte) (ms int64, ok bool) {
	text := string(value)
	if s, ok := unquote(value); ok {
		text = strings.TrimFunc(s, isSpace)
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] != '+' {
		return ms, usable(ms)
	}
	// ParseFloat accepts more spellings than JSON: hexadecimal, infinities, a leading plus.
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(f) > maxInstant || !json.Valid([]byte(text)) {
		return 0, false
	}
	ms = int64(math.Floor(f))
	return ms, usable(ms)
}

func usable(ms int64) bool { return ms != 0 && -maxInstant <= ms && ms <= maxInstant }
