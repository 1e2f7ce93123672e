package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

const (
	// Grace is how late a run may begin without its due time being missed.
	Grace = time.Minute
	// MaxCatchUp is how many missed due times the rule all makes up for; older ones stay missed.
	MaxCatchUp = 100
	// maxCounted bounds how many missed due times are counted.
	maxCounted = 10_000
)

// First returns when a job is due first after a time, both in ms since 1970; 0 for never, or for a disabled job. The error is a *Refusal.
func First(j *coordination.CronJob, after int64) (int64, error) {
	next, err := rhythmOf(j)
	if err != nil || !j.Enabled {
		return 0, err
	}
	return next(after), nil
}

// Look is what follows from the due times of a job up to now.
type Look struct {
	Run    bool
	DueAt  int64                       // of the run
	Missed *coordination.CronRunMissed // due times without a run; nil: none
	NextAt int64                       // after all of them; 0: never
}

// Due decides about the due times of a job up to now, of which s.NextAt is the first. Each is either missed, or run, or not later than the
// new NextAt: none is lost and none is twice.
func (s *State) Due(now int64) (l Look, err error) {
	next, err := rhythmOf(&s.Job)
	if err != nil || s.NextAt == 0 || s.NextAt > now {
		return Look{NextAt: s.NextAt}, err
	}
	rule := cmp.Or(s.Job.Missed, MissedLast)
	passed, more := passedFrom(next, s.NextAt, now)
	newest := passed[len(passed)-1]
	if more {
		newest = newestUpTo(next, newest, now)
	}
	l = Look{Run: true, DueAt: newest}
	missed := len(passed) - 1
	switch {
	case rule == MissedAll && more:
		l.DueAt = catchUp(next, newest, now)
		missed, _ = slices.BinarySearch(passed, l.DueAt)
		more = missed == len(passed) && next(passed[missed-1]) != l.DueAt
	case rule == MissedAll:
		missed = max(len(passed)-MaxCatchUp, 0)
		l.DueAt = passed[missed]
	case rule == MissedSkip && now-newest > Grace.Milliseconds():
		l.Run, l.DueAt = false, 0
		missed = len(passed)
	}
	last := cmp.Or(l.DueAt, newest)
	l.NextAt = next(last)
	if s.Job.MaxRuns > 0 && l.Run && s.Runs+1 >= s.Job.MaxRuns {
		l.NextAt = 0
	}
	if missed > 0 {
		l.Missed = &coordination.CronRunMissed{JobID: s.Job.ID, FromMs: passed[0], ToMs: passed[missed-1], Count: missed, More: more, Rule: rule,
			NextAtMs: cmp.Or(l.DueAt, l.NextAt), Ends: !l.Run && l.NextAt == 0}
	}
	return l, nil
}

// Ahead is how far behind the next due time by the clock a stored one may lie. If it is more, the clock ran ahead when it was stored.
const Ahead = 24 * time.Hour

// Rewind sets the next due time of a recurring job from now if a clock that ran ahead has stored it, and reports whether it did.
func (s *State) Rewind(now int64) bool {
	job := s.Job
	if job.Schedule.Kind == KindEvery && job.Schedule.AnchorMs == nil {
		job.CreatedAtMs = min(job.CreatedAtMs, now)
	}
	if !job.Enabled || job.Schedule.Kind == KindAt || s.NextAt == 0 {
		return false
	}
	next, err := First(&job, now)
	if err != nil || next == 0 || max(s.NextAt, s.NotBefore)-next <= Ahead.Milliseconds() {
		return false
	}
	s.Job, s.NextAt, s.NotBefore = job, next, 0
	return true
}

// passedFrom lists the due times from the first one to now, at most maxCounted; more says that there are others.
func passedFrom(next rhythm, first, now int64) (passed []int64, more bool) {
	for at := first; at != 0 && at <= now; at = next(at) {
		if len(passed) == maxCounted {
			return passed, true
		}
		passed = append(passed, at)
	}
	return passed, false
}

// newestUpTo returns the last due time from one to now, without visiting all of them.
func newestUpTo(next rhythm, from, now int64) int64 {
	start := from
	for window := time.Minute.Milliseconds(); now-window > from; window *= 30 {
		if at := next(now - window); at != 0 && at <= now {
			start = at
			break
		}
	}
	for at := start; at != 0 && at <= now; at = next(at) {
		start = at
	}
	return start
}

// catchUp returns the first of the last MaxCatchUp due times up to now, of which there are at least as many; newest is the last.
func catchUp(next rhythm, newest, now int64) int64 {
	for window := time.Minute.Milliseconds(); ; window *= 30 {
		var last []int64
		from := max(newest-window, 0)
		for at := next(from); at != 0 && at <= now; at = next(at) {
			if last = append(last, at); len(last) > MaxCatchUp {
				last = last[1:]
			}
		}
		if len(last) == MaxCatchUp || from == 0 {
			return last[0]
		}
	}
}

// pauses are the back-offs after consecutive errors; the last one stays.
var pauses = [...]time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// pause is the back-off after so many consecutive errors.
func pause(errors int) time.Duration {
	return pauses[min(max(errors, 1), len(pauses))-1]
}
