package discordtest

import (
	"strconv"
	"time"
)

// discordEpoch is the first moment of 2015, from which snowflakes count their milliseconds.
const discordEpoch = 1420070400000

// firstOfMs stands where Discord says who has made an id, and how many before it in the same millisecond: hardly ever is that zero, which is how
// clients word a moment.
const firstOfMs = 1 << 12

// snowflakes gives ids that ascend and say when they were made, by the clock that is passed in.
type snowflakes struct{ last uint64 }

func (f *snowflakes) next(now time.Time) string {
	id := uint64(max(now.UnixMilli()-discordEpoch, 1))<<22 | firstOfMs
	f.last = max(id, f.last+1)
	return strconv.FormatUint(f.last, 10)
}

// next is a new id. The lock is held.
func (s *Server) next() string { return s.ids.next(s.now()) }

func isSnowflake(id string) bool {
	_, err := strconv.ParseUint(id, 10, 64)
	return err == nil
}

// older compares two snowflakes, which have no leading zeros.
func older(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// stamp words a moment as Discord does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }
