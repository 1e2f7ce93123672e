package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones do not depend on the machine

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

const settings = `{"agents": {"list": [{"id": "main", "default": true, "model": "fake/echo"}, {"id": "eden", "model": "fake/echo"}]}}`

func every(d time.Duration) coordination.CronSchedule {
	return coordination.CronSchedule{Kind: schedule.KindEvery, EveryMs: d.Milliseconds()}
}

func cronAt(expr, zone string) coordination.CronSchedule {
	return coordination.CronSchedule{Kind: schedule.KindCron, Expr: expr, Tz: zone}
}

// In a year with restarts at any moment, clocks set back and forth by up to two minutes, and days of 23 and 25 hours, each due time has
// exactly one run.
func TestAYearOfRestarts(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	p := newPlan(t, settings)
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	all := func(j *coordination.CronJob) { j.Missed = schedule.MissedAll }
	daily, hourly := p.add(cronAt("30 1 * * *", "America/New_York"), all), p.add(cronAt("15 */6 * * *", "America/New_York"), all)
	end := begin.AddDate(0, 0, testscale.Of(150, 366)) // over the change of November or both
	for p.now.Before(end) {
		switch random.IntN(12) {
		case 0:
			p.restart()
		case 1:
			p.now = p.now.Add(-time.Duration(random.IntN(120)) * time.Second)
		}
		next := p.look()
		if random.IntN(6) > 0 {
			for p.finish(false) > 0 {
				next = p.look()
			}
		}
		p.now = p.now.Add(time.Duration(10+random.IntN(200)) * time.Minute)
		if len(p.openRuns()) == 0 && random.IntN(2) == 0 && next.After(p.now) {
			p.now = next
		}
	}
	for range 20 { // what waits for an earlier run
		p.look()
		p.finish(false)
	}
	for _, c := range []struct{ id, expr string }{{daily.Job.ID, "30 1 * * *"}, {hourly.Job.ID, "15 */6 * * *"}} {
		x, err := schedule.ParseExpression(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for at := x.Next(begin, zone); !at.After(p.now); at = x.Next(at, zone) {
			want = append(want, at.In(zone).String())
		}
		for _, r := range p.history(c.id) {
			got = append(got, time.UnixMilli(r.DueAt).In(zone).String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -due +run:\n%s", c.expr, diff)
		}
	}
}

// What was missed while the server was down is run as the job says, and the rest is recorded.
func TestMissedTimes(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string][]int{"": {5}, schedule.MissedLast: {5}, schedule.MissedAll: {1, 2, 3, 4, 5}, schedule.MissedSkip: {6}} {
		p := newPlan(t, settings)
		j := p.add(every(time.Hour), func(j *coordination.CronJob) { j.Missed = rule })
		p.now = begin.Add(5*time.Hour + 20*time.Minute)
		for range 5 {
			p.look()
			p.finish(false)
		}
		if rule == schedule.MissedSkip {
			p.now = begin.Add(6 * time.Hour)
			p.look()
			p.finish(false)
		}
		var got []int
		for _, r := range p.history(j.Job.ID) {
			got = append(got, int(time.UnixMilli(r.DueAt).Sub(begin)/time.Hour))
		}
		row, _ := p.job(j.Job.ID)
		if !slices.Equal(got, want) || row.Missed != 5-len(slices.DeleteFunc(slices.Clone(got), func(h int) bool { return h > 5 })) {
			t.Errorf("rule %q: ran at hours %v, want %v; %d missed", rule, got, want, row.Missed)
		}
	}
}

// A job that is still running is not started again; after an error it waits longer and longer, and an answer ends that.
func TestOneRunAtATimeAndBackOff(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(every(10 * time.Second))
	p.now = begin.Add(10 * time.Second)
	p.look()
	p.now = begin.Add(20 * time.Second)
	p.look()
	if n := len(p.openRuns()); n != 1 {
		t.Fatalf("%d runs at a time", n)
	}
	for i, pause := range []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute} {
		p.finish(true)
		row, _ := p.job(j.Job.ID)
		if row.Errors != i+1 || row.LastStatus != schedule.Error || row.LastError != "no model" || row.WakeAt() != p.now.Add(pause).UnixMilli() {
			t.Fatalf("after %d errors: %+v, wakes %s later", i+1, row.State, time.Duration(row.WakeAt()-p.now.UnixMilli())*time.Millisecond)
		}
		p.look()
		if n := len(p.openRuns()); n != 0 {
			t.Fatalf("started in the back-off")
		}
		p.now = p.now.Add(pause)
		p.look()
	}
	p.finish(false)
	if row, _ := p.job(j.Job.ID); row.Errors != 0 || row.WakeAt() > p.now.Add(10*time.Second).UnixMilli() {
		t.Errorf("after an answer: %+v", row.State)
	}
}

// A job that is due once is removed after its answer, and kept, disabled, after an error. A limit of runs ends a job.
func TestEndsOfJobs(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	once := func() coordination.CronSchedule {
		return coordination.CronSchedule{Kind: schedule.KindAt, At: p.now.Add(time.Minute).Format(time.RFC3339)}
	}
	good := p.add(once())
	p.now = p.now.Add(time.Minute)
	p.look()
	p.finish(false)
	if _, there := p.job(good.Job.ID); there || len(p.history(good.Job.ID)) != 1 {
		t.Errorf("it is still there: %t, with %d runs", there, len(p.history(good.Job.ID)))
	}
	bad := p.add(once())
	p.now = p.now.Add(time.Minute)
	p.look()
	p.finish(true)
	if row, there := p.job(bad.Job.ID); !there || row.Job.Enabled || row.WakeAt() != 0 {
		t.Errorf("after an error: there %t, %+v", there, row.State)
	}
	twice := p.add(every(time.Minute), func(j *coordination.CronJob) { j.MaxRuns = 2 })
	for range 5 {
		p.now = p.now.Add(time.Minute)
		p.look()
		p.finish(false)
	}
	if row, _ := p.job(twice.Job.ID); row.Job.Enabled || len(p.history(twice.Job.ID)) != 2 {
		t.Errorf("a limit of 2: %d runs, %+v", len(p.history(twice.Job.ID)), row.State)
	}
}

// Jobs that are due at one time are started in the order in which they were added, also those of a session that does not exist yet.
func TestJobsOfOneTimeBeginInOrder(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	var want, got []string
	for i := range testscale.Of(120, 1_000) {
		row := p.add(cronAt("0 0 13 * * *", "UTC"), func(j *coordination.CronJob) {
			if i%40 == 0 {
				j.Payload = coordination.CronPayload{Kind: schedule.PayloadEvent, Text: "hello"}
			}
		})
		want = append(want, schedule.RunID(row.Job.ID, begin.Add(time.Hour).UnixMilli(), false))
	}
	p.now = begin.Add(time.Hour)
	p.look()
	for _, r := range p.openRuns() {
		got = append(got, r.RunID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A run on request leaves the due time, and is refused while one is in progress.
func TestRunOnRequest(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(every(time.Hour))
	now := func(due bool) schedule.Ran {
		t.Helper()
		ran, err := p.Now(t.Context(), j.Job.ID, due, "cli")
		if err != nil {
			t.Fatal(err)
		}
		return ran
	}
	if ran := now(true); ran.Reason != "not-due" || ran.RunID != "" {
		t.Errorf("not due: %+v", ran)
	}
	if ran := now(false); ran.RunID == "" {
		t.Errorf("forced: %+v", ran)
	}
	var due coordination.CronRunDue
	if p.last(coordination.TypeCronRunDue, &due); !due.Manual || due.By != "cli" {
		t.Errorf("recorded: %+v", due)
	}
	if ran := now(false); ran.Reason != "already-running" {
		t.Errorf("twice: %+v", ran)
	}
	p.finish(false)
	if row, _ := p.job(j.Job.ID); row.NextAt != begin.Add(time.Hour).UnixMilli() || row.LastStatus != schedule.OK {
		t.Errorf("afterwards: %+v", row.State)
	}
}

// A job that is paused is not due, and repeating that changes nothing. Resumed, it is due from then on.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(every(time.Hour))
	enable := func(enabled, wantChanged bool) {
		t.Helper()
		row, changed, err := p.Enable(t.Context(), j.Job.ID, enabled, "민수")
		if err != nil || changed != wantChanged || row.Job.Enabled != enabled {
			t.Errorf("enabled %v: changed %v, %+v, %v", enabled, changed, row.State, err)
		}
	}
	enable(true, false)
	enable(false, true)
	enable(false, false)
	var said coordination.CronJobChanged
	if p.last(coordination.TypeCronJobUpdated, &said); said.By != "민수" || said.Job.Enabled {
		t.Errorf("recorded: %+v", said)
	}
	p.now = begin.Add(90 * time.Minute)
	p.look()
	if open := p.openRuns(); len(open) > 0 {
		t.Errorf("ran while it was paused: %+v", open)
	}
	enable(true, true)
	if row, _ := p.job(j.Job.ID); row.NextAt != begin.Add(2*time.Hour).UnixMilli() {
		t.Errorf("resumed: %+v", row.State)
	}
	if _, _, err := p.Enable(t.Context(), "nothing", true, "민수"); err == nil {
		t.Error("an unknown job was resumed")
	}
}

// A job that the configuration has made invalid can be paused and changed, and not be enabled as it is.
func TestAnInvalidJobCanBePaused(t *testing.T) {
	t.Parallel()
	const both = `{"agents": {"list": [{"id": "main", "default": true, "model": "fake/echo"}, {"id": "eden", "model": "fake/echo"}]}}`
	p := newPlan(t, both)
	j := p.add(every(time.Hour), func(j *coordination.CronJob) { j.AgentID = "eden" })
	p.settings = strings.ReplaceAll(both, `, {"id": "eden", "model": "fake/echo"}`, "")
	p.restart()
	if row, changed, err := p.Enable(t.Context(), j.Job.ID, false, "민수"); err != nil || !changed || row.Job.Enabled || row.NextAt != 0 {
		t.Fatalf("paused: %+v, %v", row.State, err)
	}
	rename := func(name string) error {
		_, err := p.Update(t.Context(), j.Job.ID, func(j *coordination.CronJob) error {
			j.Name = name
			return nil
		}, "민수")
		return err
	}
	if err := rename("other"); err != nil {
		t.Errorf("renamed while it is paused: %v", err)
	}
	if err := rename(" "); err == nil {
		t.Error("a paused job takes a name that no job can have")
	}
	if _, _, err := p.Enable(t.Context(), j.Job.ID, true, "민수"); err == nil {
		t.Error("it was enabled although its agent is gone")
	}
}

// After a clock that ran a year ahead was set back, recurring jobs are due from then on, also those that were added meanwhile.
func TestAClockThatRanAhead(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	hourly, daily := p.add(every(time.Hour)), p.add(cronAt("0 9 * * *", "UTC"))
	yearly := p.add(cronAt("0 9 1 11 *", "UTC"))
	p.now = begin.AddDate(1, 0, 0).Add(30 * time.Minute)
	p.look()
	p.finish(false)
	added := p.add(every(time.Hour))
	p.now = begin.Add(90 * time.Minute)
	if err := p.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		row  schedules.Row
		next time.Time
	}{"hourly": {hourly, begin.Add(2 * time.Hour)}, "daily": {daily, time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)},
		"yearly": {yearly, time.Date(2027, 11, 1, 9, 0, 0, 0, time.UTC)}, "added": {added, begin.Add(150 * time.Minute)}} {
		if row, _ := p.job(c.row.Job.ID); row.NextAt != c.next.UnixMilli() {
			t.Errorf("%s: next at %s, want %s", name, time.UnixMilli(row.NextAt).UTC(), c.next)
		}
	}
	p.now = begin.Add(2 * time.Hour)
	p.look()
	if open := p.openRuns(); len(open) != 1 {
		t.Errorf("%d runs are open, want that of the hourly job", len(open))
	}
	p.finish(false)
	p.now = begin.Add(90 * time.Minute) // a small step back changes nothing
	before, _ := p.job(hourly.Job.ID)
	if err := p.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, _ := p.job(hourly.Job.ID); after.NextAt != before.NextAt {
		t.Errorf("a small step back: %d, want %d", after.NextAt, before.NextAt)
	}
}

// A heartbeat wakes its agent only if HEARTBEAT.md says something new, and its run says what it cost.
func TestHeartbeatNeedsACause(t *testing.T) {
	t.Parallel()
	p := newPlan(t, `{"agents": {"defaults": {"heartbeat": {"every": "30m", "activeHours": {"start": "08:00", "end": "22:00", "timezone": "UTC"}}},
		"list": [{"id": "main", "default": true, "model": "fake/echo"}]}}`)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(p.dir, "HEARTBEAT.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	beat := func(want string) {
		t.Helper()
		p.now = p.now.Add(30 * time.Minute)
		p.look()
		p.finish(false)
		list := p.history("heartbeat-main")
		last := list[len(list)-1]
		if got := last.Status + ": " + last.End.Error; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if last.Status == schedule.OK && (last.End.Usage == nil || last.End.Usage.Total != 12 || last.End.ModelCalls != 1) {
			t.Errorf("its cost is %+v", last.End)
		}
	}
	p.look()
	beat("skipped: no cause: HEARTBEAT.md says nothing")
	write("# To do\n\n- [ ]\n<!-- nothing -->\n")
	beat("skipped: no cause: HEARTBEAT.md says nothing")
	write("# To do\n- look at the mail\n")
	beat("ok: ")
	beat("skipped: no cause: HEARTBEAT.md says nothing new")
	p.restart()
	beat("skipped: no cause: HEARTBEAT.md says nothing new")
	write("# To do\n- look at the mail\n- water the flowers\n")
	beat("ok: ")
	p.now = time.Date(2026, 11, 2, 22, 0, 0, 0, time.UTC)
	write("- night\n")
	p.look()
	beat("skipped: outside of the active hours")
	p.settings = settings
	p.restart()
	p.look()
	if _, there := p.job("heartbeat-main"); there {
		t.Error("it is kept without a setting")
	}
}

// A heartbeat wakes its agent for a call whose outcome is unknown, once, whatever HEARTBEAT.md says.
func TestHeartbeatForUnknownCalls(t *testing.T) {
	t.Parallel()
	p := newPlan(t, `{"agents": {"defaults": {"heartbeat": {"every": "30m"}}, "list": [{"id": "main", "default": true, "model": "fake/echo"}]}}`)
	unknown := func(id string) {
		t.Helper()
		at := p.now.UnixMilli()
		a := eventstore.StreamAppend{Stream: coordination.ToolCallStream(id)}
		called := coordination.ToolCalled{CallID: id, Tool: "mail__send", CalledAtMs: at}
		err := a.Add(eventstore.NewEvent{Type: coordination.TypeToolCalled, AgentID: "main"}, called, at)
		if err == nil {
			err = a.Add(eventstore.NewEvent{Type: coordination.TypeToolOutcomeUnknown, AgentID: "main"}, coordination.ToolOutcomeUnknown{CallID: id, Reason: "restart"}, at)
		}
		if err == nil {
			_, err = p.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return []eventstore.StreamAppend{a}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	beat := func(want string) (cause string) {
		t.Helper()
		p.now = p.now.Add(30 * time.Minute)
		p.look()
		p.finish(false)
		list := p.history("heartbeat-main")
		if last := list[len(list)-1]; last.Status+": "+last.End.Error != want {
			t.Errorf("got %q, want %q", last.Status+": "+last.End.Error, want)
		}
		var started coordination.CronRunStarted
		p.last(coordination.TypeCronRunStarted, &started)
		return started.Cause
	}
	p.look()
	unknown("c1")
	if cause := beat("ok: "); cause != "unknown_call" {
		t.Errorf("the cause is %q", cause)
	}
	var queued coordination.RunQueued
	if p.last(coordination.TypeRunQueued, &queued); !strings.Contains(queued.Message, "your call of mail__send at") {
		t.Errorf("the agent is told %q", queued.Message)
	}
	beat("skipped: no cause: HEARTBEAT.md says nothing")
	unknown("c2")
	beat("ok: ")
	p.restart()
	beat("skipped: no cause: HEARTBEAT.md says nothing")
}

// Jobs that can never run are refused with the field at fault.
func TestRefusals(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	for field, change := range map[string]func(*coordination.CronJob){
		"name":             func(j *coordination.CronJob) { j.Name = " " },
		"schedule.kind":    func(j *coordination.CronJob) { j.Schedule.Kind = "stream" },
		"schedule.everyMs": func(j *coordination.CronJob) { j.Schedule = every(10 * time.Millisecond) },
		"schedule.expr":    func(j *coordination.CronJob) { j.Schedule = cronAt("61 * * * *", "") },
		"schedule.tz":      func(j *coordination.CronJob) { j.Schedule = cronAt("1 * * * *", "Mars/Base") },
		"schedule.at":      func(j *coordination.CronJob) { j.Schedule = coordination.CronSchedule{Kind: "at", At: "2020-01-01"} },
		"payload.message":  func(j *coordination.CronJob) { j.Payload.Message = "" },
		"payload.kind":     func(j *coordination.CronJob) { j.Payload.Kind = "script" },
		"sessionTarget":    func(j *coordination.CronJob) { j.SessionTarget = "main" },
		"agentId":          func(j *coordination.CronJob) { j.AgentID = "unknown" },
		"sessionKey":       func(j *coordination.CronJob) { j.SessionKey = "agent:eden:main" },
		"missed":           func(j *coordination.CronJob) { j.Missed = "some" },
		"maxRuns":          func(j *coordination.CronJob) { j.MaxRuns = -1 },
		"delivery.mode": func(j *coordination.CronJob) {
			j.Delivery = &coordination.CronDelivery{Mode: "webhook", To: "http://x"}
		},
		"delivery.channel": func(j *coordination.CronJob) {
			j.Delivery = &coordination.CronDelivery{Mode: "announce", Channel: "pigeon"}
		},
		"delivery.to": func(j *coordination.CronJob) {
			j.Delivery = &coordination.CronDelivery{Mode: "announce", Channel: "discord"}
		},
		"check":                  func(j *coordination.CronJob) { j.Check = &coordination.CronCheck{Command: []string{"true"}} },
		"payload.timeoutSeconds": func(j *coordination.CronJob) { n := int64(-1); j.Payload.TimeoutSeconds = &n },
	} {
		j := coordination.CronJob{Name: "job", Enabled: true, Schedule: every(time.Hour), Payload: coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "do it"}}
		change(&j)
		_, err := p.Add(t.Context(), j, "test")
		refused, ok := err.(*schedule.Refusal)
		if !ok || refused.Field != field || refused.HintText == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := p.Update(t.Context(), "none", func(*coordination.CronJob) error { return nil }, ""); fmt.Sprint(err) == "<nil>" {
		t.Error("an unknown job was changed")
	}
}
