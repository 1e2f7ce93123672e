package schedule

import (
	"math/bits"
	"time"
)

// lastYear is the last year in which a due time is searched.
const lastYear = 2999

// Next returns the first time after another one that matches in a time zone; zero if there is none.
//
// The hour changes are handled as croner does. A clock time that exists twice is due twice, unless the expression names a single time of
// the day ("30 1 * * *"): then the first of both counts. A clock time that does not exist is not due, unless the expression names a single
// time of the day: then it is due at the moment of the change, if that is on the same day.
func (x *Expression) Next(after time.Time, zone *time.Location) time.Time {
	for at := after.Truncate(time.Second).Add(time.Second); ; {
		at = at.In(zone)
		period := periodAt(at)
		if x.fixed && period.start.Equal(at) && x.inGap(&period) {
			return at
		}
		from := period.wall(at)
		wall, ok := x.nextWall(from)
		due := period.instant(wall)
		switch {
		case ok && x.fixed && due.Before(period.until()) && period.repeats(wall):
			at = due.Add(time.Second)
		case ok && due.Before(period.until()):
			return due
		case period.setsBackBefore(from): // times before it come again
			at = period.end
		case !ok:
			return time.Time{}
		default:
			at = period.end
			if far := wall.Add(-longestOffset); far.After(at) { // no match before
				at = far
			}
		}
	}
}

// longestOffset is more than any zone's offset from UTC.
const longestOffset = 48 * time.Hour

// period is a time in which a zone has the same offset from UTC. Clock times are kept as times in UTC.
type period struct {
	start, end    time.Time     // zero: unlimited
	offset, since time.Duration // since is the offset before start
}

func periodAt(at time.Time) period {
	p := period{}
	p.start, p.end = at.ZoneBounds()
	if !p.end.IsZero() && !p.end.After(at) {
		// ZoneBounds ends periods with the year, after 365 days of those with 366.
		p.end = time.Date(at.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	p.offset = offsetAt(at)
	p.since = p.offset
	if !p.start.IsZero() {
		p.since = offsetAt(p.start.Add(-time.Nanosecond))
	}
	return p
}

func offsetAt(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}

// until is the end of the period, or a time that is never reached.
func (p *period) until() time.Time {
	if p.end.IsZero() {
		return time.Date(maxYear+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return p.end
}

// setsBackBefore reports whether the clocks are set back at the end of the period, to before a clock time.
func (p *period) setsBackBefore(wall time.Time) bool {
	return !p.end.IsZero() && p.end.UTC().Add(offsetAt(p.end)).Before(wall)
}

func (p *period) wall(at time.Time) time.Time      { return at.UTC().Add(p.offset) }
func (p *period) instant(wall time.Time) time.Time { return wall.Add(-p.offset) }

// repeats reports whether a clock time of the period was there before its start already.
func (p *period) repeats(wall time.Time) bool {
	return !p.start.IsZero() && wall.Add(-p.since).Before(p.start)
}

// inGap reports whether a clock time matches that the start of a period skips, on the day of that start.
func (x *Expression) inGap(p *period) bool {
	if p.start.IsZero() || p.since >= p.offset {
		return false
	}
	from, to := p.start.UTC().Add(p.since), p.wall(p.start)
	wall, ok := x.nextWall(from)
	for ok && wall.Before(to) {
		if wall.YearDay() == to.YearDay() {
			return true
		}
		wall, ok = x.nextWall(wall.Add(time.Second))
	}
	return false
}

// nextWall returns the first matching clock time that is not before another one.
func (x *Expression) nextWall(from time.Time) (time.Time, bool) {
	year, month, day := from.Date()
	clock, ok := x.nextClock(from.Hour(), from.Minute(), from.Second())
	if !ok {
		day++
		clock, _ = x.nextClock(0, 0, 0)
	} else if !x.matchesDay(year, month, day) {
		clock, _ = x.nextClock(0, 0, 0)
		day++
	} else {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(clock), true
	}
	most := lastYear
	if x.years != nil {
		most = maxYear
	}
	for ; year <= most; year, month, day = year+1, time.January, 1 {
		if !x.matchesYear(year) {
			continue
		}
		for ; month <= time.December; month, day = month+1, 1 {
			if x.month>>month&1 == 0 {
				continue
			}
			for last := daysIn(year, month); day <= last; day++ {
				if x.matchesDayOfMonth(year, month, day) {
					return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(clock), true
				}
			}
		}
	}
	return time.Time{}, false
}

// nextClock returns the first matching time of a day that is not before another one.
func (x *Expression) nextClock(hour, minute, second int) (time.Duration, bool) {
	s, ok := nextBit(x.second, second)
	if !ok {
		s, _ = nextBit(x.second, 0)
		minute++
	}
	m, ok := nextBit(x.minute, minute)
	if !ok {
		m, _ = nextBit(x.minute, 0)
		hour++
	}
	if !ok || m != minute {
		s, _ = nextBit(x.second, 0)
	}
	h, ok := nextBit(x.hour, hour)
	if !ok {
		return 0, false
	}
	if h != hour {
		m, _ = nextBit(x.minute, 0)
		s, _ = nextBit(x.second, 0)
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second, true
}

// nextBit returns the first set bit from n.
func nextBit(set uint64, n int) (int, bool) {
	set = set >> n << n
	return bits.TrailingZeros64(set), set != 0
}

func (x *Expression) matchesDay(year int, month time.Month, day int) bool {
	return x.matchesYear(year) && x.month>>month&1 == 1 && x.matchesDayOfMonth(year, month, day)
}

func (x *Expression) matchesYear(y int) bool {
	if x.years == nil {
		return true
	}
	for _, r := range x.years {
		if y >= r.from && y <= r.to && (y-r.from)%r.step == 0 {
			return true
		}
	}
	return false
}

func (x *Expression) matchesDayOfMonth(year int, month time.Month, day int) bool {
	byDate := x.day>>day&1 == 1 || x.lastDay && day == daysIn(year, month) || x.lastWorkday && day == nearestWorkday(year, month, daysIn(year, month)) ||
		x.nearest != 0 && x.isNearest(year, month, day)
	if x.anyWeekday {
		return byDate
	}
	nth := x.weekday[weekday(year, month, day)]
	byWeekday := nth>>((day-1)/7)&1 == 1 || nth&nthLast != 0 && day+7 > daysIn(year, month)
	if x.both || x.anyDay {
		return byDate && byWeekday
	}
	return byDate || byWeekday
}

// isNearest reports whether a day is the working day nearest to one that W names.
func (x *Expression) isNearest(year int, month time.Month, day int) bool {
	for n := max(day-2, 1); n <= min(day+2, daysIn(year, month)); n++ {
		if x.nearest>>n&1 == 1 && nearestWorkday(year, month, n) == day {
			return true
		}
	}
	return false
}

// nearestWorkday returns the day from Monday to Friday that is nearest to a day, in the same month.
func nearestWorkday(year int, month time.Month, day int) int {
	switch weekday(year, month, day) {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == daysIn(year, month) {
			return day - 2
		}
		return day + 1
	}
	return day
}

func weekday(year int, month time.Month, day int) time.Weekday {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
