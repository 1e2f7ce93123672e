package problems_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/problems"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const now = int64(1_800_000_000_000)

func ago(d time.Duration) int64 { return now - d.Milliseconds() }

// What is a problem, and what is not one yet, or any more.
func TestDecide(t *testing.T) {
	t.Parallel()
	startable := func(ready time.Duration, running, capacity int) problems.Facts {
		return problems.Facts{Startable: []problems.Startable{{Result: run.Result{RunID: "r", AgentID: "eden", QueuedAt: ago(time.Hour)}, ReadySince: ago(ready),
			Running: running, Capacity: capacity}}}
	}
	bot := func(state health.BotState, since time.Duration) problems.Facts {
		return problems.Facts{Bots: []health.Bot{{Channel: "discord", AccountID: "b", State: state, Since: ago(since)}}}
	}
	request := func(status response.Status, step int) []responses.Row {
		return []responses.Row{{Request: response.Request{ID: "c1", FromAgent: "eden", TargetAgent: "seum", Status: status, Step: step, SentAt: ago(time.Hour)}}}
	}
	for name, c := range map[string]struct {
		facts problems.Facts
		want  string // kind, severity, code, id of each
	}{
		"nothing":         {problems.Facts{}, ""},
		"an error":        {problems.Facts{Reasons: []health.Reason{{Severity: health.SeverityError, Code: "io_error"}}}, "not_ready error io_error not_ready:io_error"},
		"a warning":       {problems.Facts{Reasons: []health.Reason{{Severity: health.SeverityWarning, Code: "disk_low"}}}, "warning warning disk_low warning:disk_low"},
		"one of a table":  {problems.Facts{Reasons: []health.Reason{{Severity: health.SeverityError, Code: "projection_parked", Subject: "index"}}}, "not_ready error projection_parked not_ready:projection_parked:index"},
		"shown elsewhere": {problems.Facts{Reasons: []health.Reason{{Severity: health.SeverityWarning, Code: "work_dead"}, {Severity: health.SeverityWarning, Code: "discord_bot_offline"}, {Severity: health.SeverityWarning, Code: "discord_undelivered"}}}, ""},

		"given up": {problems.Facts{Dead: []problems.DeadWork{{Item: workqueue.Item{EffectID: "mail/1"}}}, DeadN: 1}, "dead error other dead:mail/1"},
		"given up for a reason": {problems.Facts{Dead: []problems.DeadWork{{Item: workqueue.Item{EffectID: "run/1", Error: "429 rate limit exceeded"}}}, DeadN: 1},
			"dead error rate_limited dead:run/1"},
		"blocked": {problems.Facts{Threads: []conversations.Stuck{{Trouble: conversations.Trouble{WorkSessionID: "ws", Outcome: "blocked"}, Key: "conv:c"}}},
			"blocked error other blocked:ws:conv:c"},
		"no reply": {problems.Facts{Threads: []conversations.Stuck{{Trouble: conversations.Trouble{WorkSessionID: "ws", Outcome: "no_reply"}, Key: "conv:c"}}},
			"no_reply error other no_reply:ws:conv:c"},
		"a blocked task": {problems.Facts{Tasks: []problems.BlockedTask{{Row: tasks.Row{AgentID: "eden", Task: taskfile.Task{ID: "t"}}}}}, "task_blocked error task_blocked task_blocked:eden:t"},
		"a told task": {problems.Facts{Told: []problems.ToldTask{{AgentID: "eden", TaskID: "t", Reason: string(continuation.NoAnswer)}}},
			"escalated error no_answer escalated:task:eden:t"},
		"an escalated request": {problems.Facts{Escalated: request(response.StatusEscalated, 3)}, "escalated error no_answer escalated:request:c1"},

		"an agent that works": {problems.Facts{Continuations: []continuations.Row{{AgentID: "eden"}}}, ""},
		"an agent that fails": {problems.Facts{Continuations: []continuations.Row{{AgentID: "eden", State: continuation.State{Failures: 1, Cause: "billing"}}}},
			"backoff warning billing backoff:eden"},

		"a run of ten minutes":   {problems.Facts{Running: []run.Result{{RunID: "r", StartedAt: ago(10 * time.Minute)}}}, ""},
		"a longer run":           {problems.Facts{Running: []run.Result{{RunID: "r", StartedAt: ago(10*time.Minute) - 1}}}, "stuck_run warning running_long stuck_run:r"},
		"queued for a minute":    {startable(time.Minute, 0, 2), ""},
		"queued for longer":      {startable(time.Minute+time.Millisecond, 0, 2), "stuck_run warning lane_free stuck_run:r"},
		"room beside another":    {startable(time.Hour, 1, 2), "stuck_run warning lane_free stuck_run:r"},
		"a full lane":            {startable(time.Hour, 2, 2), ""},
		"unknown room":           {startable(time.Hour, 1, 0), ""},
		"an idle lane, unknown":  {startable(time.Hour, 0, 0), "stuck_run warning lane_free stuck_run:r"},
		"a flow that is due":     {problems.Facts{Flows: []flows.Row{{JobID: "j", DueAt: ago(time.Minute)}}}, ""},
		"a flow that was due":    {problems.Facts{Flows: []flows.Row{{JobID: "j", DueAt: ago(time.Minute) - 1}}}, "overdue warning check_missed overdue:flow:j"},
		"a flow without a check": {problems.Facts{Flows: []flows.Row{{JobID: "j"}}}, ""},
		"a request":              {problems.Facts{Pending: request(response.StatusPending, 0)}, ""},
		"a reminder":             {problems.Facts{Pending: request(response.StatusPending, 1)}, "overdue warning reminded overdue:request:c1"},

		"a suspension": {problems.Facts{Places: []problems.Suspension{{Place: routing.Place{ID: "5", SuspendedUntil: now + 1, SuspendedFor: "bot_rate"}}}},
			"suspended warning bot_rate suspended:5"},
		"a suspension that ends": {problems.Facts{Places: []problems.Suspension{{Place: routing.Place{ID: "5", SuspendedUntil: now}}}}, ""},

		"a bot":                  {bot(health.BotReady, time.Hour), ""},
		"a bot that is off":      {bot(health.BotOff, time.Hour), ""},
		"a bot that connects":    {bot(health.BotConnecting, 30*time.Second), ""},
		"a bot that resumes":     {bot(health.BotResuming, 31*time.Second), "bot_down warning resuming bot_down:b"},
		"a bot that has failed":  {bot(health.BotFailed, 0), "bot_down error failed bot_down:b"},
		"two of the same moment": {problems.Facts{Dead: []problems.DeadWork{{Item: workqueue.Item{EffectID: "b"}}, {Item: workqueue.Item{EffectID: "a"}}}}, "dead error other dead:a, dead error other dead:b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.facts.Now = now
			list := problems.Decide(&c.facts, nil, 0, 0)
			var said []string
			counts := map[problems.Kind]int{}
			for i := range list.Problems {
				p := &list.Problems[i]
				said = append(said, strings.Join([]string{string(p.Kind), string(p.Severity), p.Code, p.ID}, " "))
				counts[p.Kind]++
			}
			if got := strings.Join(said, ", "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if diff := gocmp.Diff(counts, list.Counts); diff != "" || list.Total != len(list.Problems) {
				t.Errorf("%d in all, counted (-want +got):\n%s", list.Total, diff)
			}
		})
	}
}

// Actions are those that exist; texts are bounded and hold no secrets.
func TestDecideSaysWhatCanBeDone(t *testing.T) {
	t.Parallel()
	f := problems.Facts{Now: now, DeadN: 8,
		Reasons: []health.Reason{{Severity: health.SeverityWarning, Code: "backup_overdue"}, {Severity: health.SeverityWarning, Code: "task_files_failing"}},
		Dead:    []problems.DeadWork{{Item: workqueue.Item{EffectID: "mail/1", Owner: "Eden", Error: "token sk-" + strings.Repeat("a1B2", 12) + strings.Repeat("x ", 2_000)}}},
		Flows:   []flows.Row{{JobID: "j", FromAgent: "seum", DueAt: 1}},
	}
	actions := func() (all [][]problems.Action) {
		for _, p := range problems.Decide(&f, nil, 0, 0).Problems {
			all = append(all, p.Actions)
		}
		return all
	}
	none := []problems.Action{}
	if diff := gocmp.Diff([][]problems.Action{none, none, none, none}, actions()); diff != "" {
		t.Errorf("able to do nothing (-want +got):\n%s", diff)
	}
	f.Able = problems.Able{Work: true, Flows: true, TaskFiles: true, Backup: true, Message: func(agent string) bool { return agent == "eden" }}
	want := [][]problems.Action{{problems.Resend, problems.Cancel, problems.Message}, {problems.CancelFlow}, {problems.BackUp}, {problems.RewriteTasks}}
	if diff := gocmp.Diff(want, actions()); diff != "" {
		t.Errorf("able to do all (-want +got):\n%s", diff)
	}
	list := problems.Decide(&f, []problems.Kind{problems.Dead}, 0, 1)
	p := list.Problems[0]
	if len(p.Reason) > problems.MaxText || strings.Contains(p.Reason, "a1B2a1B2") || p.AgentID != "eden" {
		t.Errorf("of %s: %q", p.AgentID, p.Reason)
	}
	if list.Total != 11 || list.Counts[problems.Dead] != 8 || len(list.Problems) != 1 {
		t.Errorf("%d listed of %d, %v", len(list.Problems), list.Total, list.Counts)
	}
}

// Kinds come in their order, then the newest first; unknown times come last. The offset cuts the beginning, the limit the end.
func TestDecideOrders(t *testing.T) {
	t.Parallel()
	dead := func(id string, at int64) problems.DeadWork {
		return problems.DeadWork{Item: workqueue.Item{EffectID: id}, Last: problems.Last{LastAt: at}}
	}
	f := problems.Facts{Now: now, Dead: []problems.DeadWork{dead("old", 5), dead("unknown", 0), dead("new", 9)},
		Threads: []conversations.Stuck{{Trouble: conversations.Trouble{Outcome: string(coordination.OutcomeNoReply)}, StepTime: 99, StepSeq: 1},
			{Trouble: conversations.Trouble{Outcome: string(coordination.OutcomeBlocked)}, StepTime: 1, StepSeq: 2}},
		Reasons: []health.Reason{{Severity: health.SeverityError, Code: "importing"}}}
	want := []string{"not_ready:importing", "dead:new", "dead:old", "dead:unknown", "blocked::", "no_reply::"}
	for limit := range len(want) + 1 {
		for offset := range len(want) + 2 {
			got := []string{}
			for _, p := range problems.Decide(&f, nil, offset, limit).Problems {
				got = append(got, p.ID)
			}
			first := min(offset, len(want))
			if shown := want[first:min(len(want), first+cmp.Or(limit, len(want)))]; !slices.Equal(got, shown) {
				t.Errorf("offset %d, limit %d: %v, want %v", offset, limit, got, shown)
			}
		}
	}
}
