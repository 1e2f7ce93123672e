package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// waiting stores tasks and a plan that wait for approval, and agents that pause, in a state directory of its own, all of one time.
func waiting(t *testing.T, at time.Time, tasks, plans, pausing int) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	now := func() time.Time { return at }
	log, err := database.OpenToWrite(t.Context(), filepath.Join(stateDir, database.Name), "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := projections.Start(t.Context(), log, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2, Now: now}); err != nil {
		t.Fatal(err)
	}
	happens := func(stream, typ, agent string, said any) {
		t.Helper()
		data, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		e := eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: data}.WithTS(at.UnixMilli())
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{e}}); err != nil {
			t.Fatal(err)
		}
	}
	in := coordination.Context{WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration}
	for i := range tasks {
		in.TaskID = fmt.Sprintf("task_%d", i)
		happens(coordination.TaskStream(in.TaskID), coordination.TypeTaskStarted, "eden",
			coordination.TaskStarted{Context: in, Priority: "high", RequiresApproval: true, Description: "배포"})
	}
	for i := range plans {
		id := fmt.Sprintf("plan_%d", i)
		happens(coordination.PlanStream(id), coordination.TypePlanSubmitted, "eden",
			coordination.Plan{Context: in, PlanID: id, Title: "계획", StepsCount: 1, Steps: []string{"하나"}})
	}
	for i := range pausing {
		agent := fmt.Sprintf("agent-%d", i)
		happens("agent/"+agent, coordination.TypeContinuationBackoff, agent, coordination.Continuation{
			Context: coordination.Context{EventRole: coordination.RoleOrchestration}, Reason: "rate_limit", ConsecutiveFailures: i + 1, BackoffMs: time.Hour.Milliseconds()})
	}
	return stateDir
}

// statusOf is what status says of a state directory that no server serves.
func statusOf(t *testing.T, stateDir string, now time.Time, args ...string) string {
	t.Helper()
	var out, notes strings.Builder
	p := &process{args: append([]string{"status", "--state-dir", stateDir}, args...), stdout: &out, stderr: &notes, now: func() time.Time { return now },
		getenv: func(name string) string { return map[string]string{"TASK_MONITOR_PORT": "1"}[name] }}
	if code := execute(t.Context(), p); code != exitOK {
		t.Fatalf("%v: exit %d: %s", args, code, notes.String())
	}
	return out.String()
}

// Status says what waits for people, and who pauses until when, with what tells more of it.
func TestStatusSaysWhatWaits(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		tasks, plans, pausing int
		after                 time.Duration
		approvals, backoff    string
	}{
		"nothing":       {0, 0, 0, 0, "nothing waits", "no agent"},
		"a task":        {1, 0, 0, 90 * time.Minute, "1 task to decide, the first for 1h30m0s (openclawd approvals)", "no agent"},
		"plans":         {0, 2, 0, time.Second, "2 plans to decide, the first for 1s (openclawd approvals)", "no agent"},
		"both, at once": {2, 1, 0, 0, "2 tasks and 1 plan to decide (openclawd approvals)", "no agent"},
		"one pauses": {0, 0, 1, time.Minute, "nothing waits",
			"agent-0 until 2026-02-20 13:00:00 (rate_limit); openclawd continuation explain AGENT shows details"},
		"five pause": {0, 0, 5, time.Minute, "nothing waits", "agent-0 until 2026-02-20 13:00:00 (rate_limit), agent-1 until 2026-02-20 13:00:00 (rate_limit), " +
			"agent-2 until 2026-02-20 13:00:00 (rate_limit), 2 more; openclawd continuation explain AGENT shows details"},
		"five have paused": {0, 0, 5, time.Hour, "nothing waits", "no agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says := statusOf(t, waiting(t, at, c.tasks, c.plans, c.pausing), at.Add(c.after))
			if want := "\napprovals  " + c.approvals + "\nback-off   " + c.backoff + "\n"; !strings.Contains(says, want) {
				t.Errorf("without\n%s\nstatus says\n%s", want, says)
			}
		})
	}
}

func TestStatusSaysWhatWaitsInJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
	var answer struct {
		Source    string
		Approvals map[string]int64
		Backoff   []map[string]any
		Unread    *string
	}
	if err := json.Unmarshal([]byte(statusOf(t, waiting(t, at, 2, 1, 1), at.Add(time.Minute), "--json")), &answer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"tasks": 2, "plans": 1, "oldestMs": 60_000}, answer.Approvals); diff != "" || answer.Source != "file" || answer.Unread != nil {
		t.Errorf("source %s, unread %v, approvals -want +got:\n%s", answer.Source, answer.Unread, diff)
	}
	pause := []map[string]any{{"agentId": "agent-0", "cause": "rate_limit", "consecutiveFailures": 1.0, "backoffUntilMs": float64(at.Add(time.Hour).UnixMilli())}}
	if diff := cmp.Diff(pause, answer.Backoff); diff != "" {
		t.Errorf("back-off, -want +got:\n%s", diff)
	}
}

// A database that cannot be read here is said to be so: no one takes it for one in which nothing waits.
func TestStatusSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	p := &process{now: time.Now, getenv: func(string) string { return "" }}
	w := p.readWaits(t.Context(), filepath.Join(t.TempDir(), "missing.db"), nil)
	for _, line := range []string{w.approvalsLine(), w.backoffLine()} {
		if !strings.HasPrefix(line, "unknown: there is no database") {
			t.Errorf("a missing database is told as %q", line)
		}
	}
}

// Status warns of tasks whose agents are not configured any more, and says nothing of it where all are, or where no one is.
func TestStatusNamesUnattendedTasks(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
	for config, want := range map[string]bool{`{agents: {list: [{id: 'seum'}]}}`: true, `{agents: {list: [{id: 'EDEN'}]}}`: false, `{}`: false} {
		dir := waiting(t, at, 2, 0, 0)
		if err := os.WriteFile(filepath.Join(dir, "openclaw.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		says := statusOf(t, dir, at)
		line := "\nwarning: tasks_unattended: 2 open tasks of eden: no such agent is configured, so no agent works on them\n  add the agent "
		if strings.Contains(says, line) != want || strings.Contains(says, "unattended") != want {
			t.Errorf("%s: want %q in it: %t\n%s", config, line, want, says)
		}
		if says := statusOf(t, dir, at, "--json"); strings.Contains(says, `"unattended": [`) != want {
			t.Errorf("%s: want it told: %t\n%s", config, want, says)
		}
	}
}
