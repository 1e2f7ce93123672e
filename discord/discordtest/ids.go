package discordtest

import (
	"strconv"
	"time"
)

// discordEpoch is the start of 2015, from which snowflakes count milliseconds.
const discordEpoch = 1420070400000

// firstOfMs is a non-zero value for the worker and sequence bits: in Discord they are rarely zero, and clients use
// zero to express a moment.
const firstOfMs = 1 << 12

// snowflakes generates ascending ids that contain their time, from the clock passed in.
type snowflakes struct{ last uint64 }

func (f *snowflakes) next(now time.Time) string {
	id := uint64(max(now.UnixMilli()-discordEpoch, 1))<<22 | firstOfMs
	f.last = max(id, f.last+1)
	return strconv.FormatUint(f.last, 10)
}

// next returns a new id. The lock is held.
func (s *Server) next() string { return s.ids.next(s.now()) }

func isSnowflake(id string) bool {
	_, err := strconv.ParseUint(id, 10, 64)
	return err == nil
}

// older compares two snowflakes without leading zeros.
func older(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }
