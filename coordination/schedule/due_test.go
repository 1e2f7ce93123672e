package schedule_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
)

// However a job is looked at, its due times are each run or missed, in order: none twice, none lost.
func TestEachDueTimeIsRunOrMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Date(2026, 10, 31, 20, 0, 0, 0, time.UTC).UnixMilli()
		job := coordination.CronJob{ID: "j", Name: "j", Enabled: true, CreatedAtMs: begin, Missed: rapid.SampledFrom([]string{"", "last", "all", "skip"}).Draw(t, "rule"),
			Payload: coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "m"}}
		job.Schedule = rapid.SampledFrom([]coordination.CronSchedule{
			{Kind: schedule.KindEvery, EveryMs: 90_000}, {Kind: schedule.KindCron, Expr: "*/7 * * * *", Tz: "America/New_York"},
			{Kind: schedule.KindCron, Expr: "30 1 * * *", Tz: "America/New_York"}, {Kind: schedule.KindCron, Expr: "5 0,3 * * *", Tz: "Europe/Berlin"},
		}).Draw(t, "schedule")
		if err := schedule.Check(&job); err != nil {
			t.Fatal(err)
		}
		first, err := schedule.First(&job, begin)
		if err != nil {
			t.Fatal(err)
		}
		s, now := schedule.State{Job: job, NextAt: first}, begin
		expected := first // the next due time that is neither run nor missed
		follow := func(at int64) int64 {
			next, err := schedule.First(&job, at)
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			now += rapid.Int64Range(-60_000, 12*3_600_000).Draw(t, "step")
			l, err := s.Due(now)
			if err != nil {
				t.Fatal(err)
			}
			if m := l.Missed; m != nil {
				for n := range m.Count {
					if n == 0 && m.FromMs != expected || n == m.Count-1 && m.ToMs != expected {
						t.Fatalf("missed %+v, expected %d", m, expected)
					}
					expected = follow(expected)
				}
			}
			if l.Run {
				if l.DueAt != expected || l.DueAt > now {
					t.Fatalf("run for %d at %d, expected %d", l.DueAt, now, expected)
				}
				expected = follow(expected)
			}
			if l.NextAt != expected {
				t.Fatalf("next is %d, expected %d", l.NextAt, expected)
			}
			s.NextAt = l.NextAt
		}
	})
}

// The rule all makes up for the newest due times, however many were missed.
func TestAllAfterALongTime(t *testing.T) {
	t.Parallel()
	for n, more := range map[int64]bool{9_999: false, 10_050: false, 10_100: false, 10_101: true, 500_000: true} {
		s := schedule.State{NextAt: 1_000, Job: coordination.CronJob{ID: "j", Enabled: true, Missed: schedule.MissedAll,
			Schedule: coordination.CronSchedule{Kind: schedule.KindEvery, EveryMs: 1_000}}}
		l, err := s.Due(n * 1_000)
		if err != nil {
			t.Fatal(err)
		}
		first := (n - schedule.MaxCatchUp + 1) * 1_000
		if l.DueAt != first || l.NextAt != first+1_000 || l.Missed.NextAtMs != first || l.Missed.More != more || int64(l.Missed.Count) != min(n-schedule.MaxCatchUp, 10_000) {
			t.Errorf("%d due times: %+v, missed %+v", n, l, l.Missed)
		}
	}
}

func TestTimesWithAZone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2026-12-24T18:00+09:00", "2026-12-24T18:00:00+09:00", "2026-12-24T09:00Z"} {
		if at, err := schedule.ParseAt(text); err != nil || at != time.Date(2026, 12, 24, 9, 0, 0, 0, time.UTC).UnixMilli() {
			t.Errorf("%s: %d, %v", text, at, err)
		}
	}
}
