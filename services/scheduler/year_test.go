package scheduler_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// yearly is a job of the simulated year.
type yearly struct {
	id, expr, rule string
	zone           *time.Location
	created        time.Time
}

// In a year in which the server is down at any moment, for minutes or days, and in which hours are changed by an hour or by half of one,
// each due time has a run or is recorded as missed, never both and never twice, and which of them it is follows from the job's rule.
func TestAYearByTheRules(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("OPENCLAWD_CRASH_SEED_BASE"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("OPENCLAWD_CRASH_SEED_BASE=%d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	p := newPlan(t, settings)
	p.now = time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC) // days before the changes in New York, London and Lord Howe
	var jobs []yearly
	for _, name := range []string{"America/New_York", "Europe/London", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []string{schedule.MissedLast, schedule.MissedAll, schedule.MissedSkip} {
			for _, expr := range []string{"30 1 * * *", "15,45 0-3 * * *"} {
				row := p.add(cronAt(expr, name), func(j *coordination.CronJob) { j.Missed = rule })
				jobs = append(jobs, yearly{row.Job.ID, expr, rule, zone, p.now})
			}
		}
	}
	for end := p.now.AddDate(0, 0, testscale.Of(30, 366)); p.now.Before(end); {
		next := p.look()
		if random.IntN(8) > 0 { // else the runs take until the next look
			p.finish(false)
		}
		switch pause := time.Duration(random.IntN(180)) * time.Minute; random.IntN(8) {
		case 0:
			p.restart()
			p.now = p.now.Add(pause)
		case 1:
			p.now = p.now.Add(12 * pause)
		default:
			if p.now = p.now.Add(pause); next.After(p.now.Add(-pause)) && next.Before(p.now) {
				p.now = next
			}
		}
	}
	p.look()
	for p.finish(false) > 0 { // what waits for an earlier run
		p.look()
	}
	ran, missed := 0, 0
	for i := range jobs {
		r, m := p.judge(&jobs[i])
		ran, missed = ran+r, missed+m
	}
	if t.Logf("%d due times have a run, %d are missed", ran, missed); ran == 0 || missed == 0 {
		t.Error("one of both has not happened")
	}
}

// judge compares what the log says of a job with its due times.
func (p *plan) judge(j *yearly) (ran, missed int) {
	p.t.Helper()
	x, err := schedule.ParseExpression(j.expr)
	if err != nil {
		p.t.Fatal(err)
	}
	due := x.Next(j.created, j.zone)
	skipped := 0 // due times that are missed just before
	expect := func(at int64, what string) {
		if due.UnixMilli() != at {
			p.t.Errorf("%s in %s, %s: %s is %s, want %s", j.expr, j.zone, j.rule, time.UnixMilli(at).In(j.zone), what, due.In(j.zone))
		}
	}
	for e := range p.told(j.id) {
		switch d := e.(type) {
		case *coordination.CronRunDue:
			expect(d.DueAtMs, "run")
			ran++
			waiting := 0
			for at := due; !at.After(time.UnixMilli(d.AtMs)); at = x.Next(at, j.zone) {
				waiting++
			}
			p.judgeRun(j, d, skipped, waiting)
			due, skipped = x.Next(due, j.zone), 0
		case *coordination.CronRunMissed:
			expect(d.FromMs, "missed")
			for range d.Count - 1 {
				due = x.Next(due, j.zone)
			}
			expect(d.ToMs, "the last that is missed")
			if j.rule != schedule.MissedSkip && skipped > 0 {
				p.t.Errorf("%s in %s, %s: no run comes after missed due times", j.expr, j.zone, j.rule)
			}
			due, missed, skipped = x.Next(due, j.zone), missed+d.Count, d.Count
		}
	}
	if !due.After(p.now) {
		p.t.Errorf("%s in %s, %s: %s is neither run nor missed", j.expr, j.zone, j.rule, due.In(j.zone))
	}
	return ran, missed
}

// judgeRun checks that a run is the one that the rule demands. skipped due times are missed just before it, and waiting ones have come up to its
// beginning, its own included.
func (p *plan) judgeRun(j *yearly, d *coordination.CronRunDue, skipped, waiting int) {
	p.t.Helper()
	late := d.AtMs - d.DueAtMs
	switch {
	case j.rule == schedule.MissedAll && (skipped > 0 && waiting != schedule.MaxCatchUp || waiting > schedule.MaxCatchUp),
		j.rule != schedule.MissedAll && waiting != 1,
		j.rule == schedule.MissedSkip && late > schedule.Grace.Milliseconds():
		p.t.Errorf("%s in %s, %s: a run for %s begins %d ms late, after %d missed due times and with %d waiting", j.expr, j.zone, j.rule,
			time.UnixMilli(d.DueAtMs).In(j.zone), late, skipped, waiting)
	}
}

// told returns what the log says of a job's due times, in its order.
func (p *plan) told(jobID string) func(yield func(any) bool) {
	p.t.Helper()
	events, err := p.db.ReadStream(p.t.Context(), schedule.Stream(jobID), 0, 1_000_000)
	if err != nil {
		p.t.Fatal(err)
	}
	var all []any
	for i := range events {
		var into any
		switch events[i].Type {
		case coordination.TypeCronRunDue:
			into = &coordination.CronRunDue{}
		case coordination.TypeCronRunMissed:
			into = &coordination.CronRunMissed{}
		default:
			continue
		}
		if err := json.Unmarshal(events[i].Data, into); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, into)
	}
	return slices.Values(all)
}
