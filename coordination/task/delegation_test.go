package task_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

var statuses = []string{"", "spawned", "running", "completed", "failed", "verified", "rejected", "retrying", "abandoned"}

// attempt is what is known of a delegation when it is spawned.
func attempt(id string) task.Delegation {
	return task.Delegation{ID: id, Agent: "seum", From: "eden", JobID: id, RunID: "run_1", ChildKey: "agent:seum:subagent:1", Label: "조사", Work: "로그 조사"}
}

// delegation is one of a task of eden in a status.
func delegation(tb tester, status string) (*stream, *task.Delegation) {
	s := started(tb)
	s.take(task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: attempt("d1")}))
	d := s.delegations["d1"]
	move := func(to string) {
		s.take(task.Move(&s.task, d, task.MoveAsk{To: to, Snapshot: "결과", Error: "오류"}))
	}
	switch status {
	case "running", "completed", "failed":
		move(status)
	case "verified":
		move("completed")
		s.take(task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Note: "좋다"}))
	case "rejected":
		move("completed")
		s.take(task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Action: "reject", Note: "다시"}))
	case "abandoned":
		move("abandoned")
	case "retrying":
		d.Status = status // nothing ends there
	}
	if d.Status != status {
		tb.Fatalf("the delegation is %s, want %s", d.Status, status)
	}
	return s, d
}

func TestEveryMoveOfADelegation(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"spawned running":   {"delegation.running"},
		"spawned completed": {"delegation.running", "delegation.completed"},
		"spawned failed":    {"delegation.failed"},
		"spawned abandoned": {"delegation.abandoned"},
		"running completed": {"delegation.completed"},
		"running failed":    {"delegation.failed"},
		"running abandoned": {"delegation.failed"},
	}
	for _, from := range statuses[1:] {
		for _, to := range append(statuses, "nonsense") {
			s, d := delegation(t, from)
			events := s.take(task.Move(&s.task, d, task.MoveAsk{To: to, Snapshot: "x", Error: "y"}))
			sameTypes(t, events, want[from+" "+to]...)
			end := from
			if len(events) > 0 {
				end = strings.TrimPrefix(events[len(events)-1].Type, "delegation.")
			}
			if d.Status != end {
				t.Errorf("%s to %s: %s", from, to, d.Status)
			}
		}
	}
}

func TestEveryJudgementOfADelegation(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"completed ":       {"task.verified", "delegation.verified"},
		"completed accept": {"task.verified", "delegation.verified"},
		"completed reject": {"task.rejected", "delegation.rejected"},
		"rejected abandon": {"delegation.abandoned"},
		"failed abandon":   {"delegation.abandoned"},
	}
	for _, from := range statuses[1:] {
		for _, action := range []string{"", "accept", "reject", "abandon", "retry"} {
			s, d := delegation(t, from)
			events, err := task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Action: action, Note: "메모"})
			allowed := want[from+" "+action]
			if allowed == nil {
				code := task.CodeDelegation
				if action == "retry" {
					code = task.CodeInvalid
				}
				if r := refused(t, events, err); r.Reason != code {
					t.Errorf("%s of %s: %+v", action, from, r)
				}
				continue
			}
			sameTypes(t, s.take(events, err), allowed...)
			if d.Status != strings.TrimPrefix(allowed[len(allowed)-1], "delegation.") || d.Note != "메모" || d.DecidedBy != "eden" || d.EndedAt == 0 {
				t.Errorf("%s of %s: %+v", action, from, d)
			}
		}
		s, d := delegation(t, from)
		events, err := task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: *d, Retry: true})
		if from != "rejected" && from != "failed" {
			if r := refused(t, events, err); r.Reason != task.CodeDelegation {
				t.Errorf("retry of %s: %+v", from, r)
			}
			continue
		}
		sameTypes(t, s.take(events, err), "task.retrying", "delegation.retrying", "delegation.spawned")
	}
}

// What is folded follows the same table, whatever the log may hold.
func TestDelegationsFollowTheirTable(t *testing.T) {
	t.Parallel()
	legal := []string{" spawned", "spawned running", "spawned failed", "spawned abandoned", "running completed", "running failed", "completed verified",
		"completed rejected", "rejected retrying", "rejected abandoned", "failed retrying", "failed abandoned", "retrying spawned"}
	for _, from := range statuses {
		for _, to := range statuses[1:] {
			d := task.Delegation{ID: "d1", Status: from}
			before := d
			means, err := d.Apply("delegation."+to, nil, 7, 8)
			if err != nil {
				t.Fatal(err)
			}
			if allowed := slices.Contains(legal, from+" "+to); means != allowed || allowed && (d.Status != to || d.Last != 7) || !allowed && d != before {
				t.Errorf("%s to %s: %v, %+v", from, to, means, d)
			}
		}
	}
}

func TestRetriesAreOfTheSameDelegation(t *testing.T) {
	t.Parallel()
	s, d := delegation(t, "failed")
	first := *d
	if first.Error != "오류" || first.EndedAt == 0 || first.Most != task.DefaultRetries || first.TaskID != "task_1" || first.Seq != 200 {
		t.Errorf("%+v", first)
	}
	for n := 1; n <= task.DefaultRetries; n++ {
		again := *d
		again.JobID, again.RunID, again.ChildKey = "job_"+string(rune('0'+n)), "run_x", "agent:seum:subagent:x"
		before := s.task
		events := s.take(task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: again, Retry: true, Note: "천천히", Number: task.MaxDelegations}))
		if told := events[1].Data.(coordination.Delegation); told.Reason != "천천히" || told.DecidedBy != "eden" || told.RetryCount != n {
			t.Errorf("%+v", told)
		}
		want := again
		want.Status, want.Retries, want.EndedAt, want.Last = "spawned", n, 0, d.Last
		want.Snapshot, want.Error, want.Note, want.DecidedBy = "", "", "", ""
		same(t, *d, want)
		if s.task.Status != before.Status || s.task.ProgressCount != before.ProgressCount || s.task.Focus != before.Focus {
			t.Errorf("%+v", s.task)
		}
		s.take(task.Move(&s.task, d, task.MoveAsk{To: "completed", Snapshot: "결과"}))
		s.take(task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Action: "reject"}))
	}
	events, err := task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: *d, Retry: true})
	if r := refused(t, events, err); r.Reason != task.CodeDelegation || !strings.Contains(r.HintText, "abandon") {
		t.Errorf("%+v", r)
	}
	s.take(task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Action: "abandon"}))
	if len(s.delegations) != 1 || d.ID != first.ID || d.Seq != first.Seq || d.CreatedAt != first.CreatedAt || d.Retries != task.DefaultRetries {
		t.Errorf("%+v", d)
	}
}

func TestDelegationsOfATaskThatIsOver(t *testing.T) {
	t.Parallel()
	s, d := delegation(t, "completed")
	s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Unverified: []task.Delegation{*d}}))
	if events, err := task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: attempt("d2")}); len(events) > 0 || err != nil {
		t.Errorf("%v, %v", events, err)
	}
	for _, action := range []string{"accept", "reject", "abandon"} {
		if events, err := task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Action: action}); refused(t, events, err).Reason != task.CodeState {
			t.Errorf("%s: %v", action, err)
		}
	}
	d.Status = "failed"
	if events, err := task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: *d, Retry: true}); refused(t, events, err).Reason != task.CodeState {
		t.Errorf("%v", err)
	}
	d.Status = "running"
	before := s.task
	s.take(task.Move(&s.task, d, task.MoveAsk{To: "completed"})) // it comes to its end all the same
	same(t, s.task, before)
}

func TestDelegationsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, d := delegation(t, "completed")
	events, err := task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: attempt("d2"), Number: task.MaxDelegations})
	if refused(t, events, err).Reason != task.CodeFull {
		t.Error(err)
	}
	ask := task.VerifyAsk{Asked: s.by("ruda")}
	if events, err := task.Verify(&s.task, d, ask); refused(t, events, err).Reason != task.CodeUnknown {
		t.Error(err)
	}
	ask.By, ask.Expect = "eden", new(int64(99))
	if events, err := task.Verify(&s.task, d, ask); refused(t, events, err).Reason != task.CodeConflict {
		t.Error(err)
	}
	ask.Expect, ask.Note = nil, strings.Repeat("x", task.MaxText+1)
	if events, err := task.Verify(&s.task, d, ask); refused(t, events, err).Reason != task.CodeInvalid {
		t.Error(err)
	}
	other := *d
	other.TaskID = "task_2"
	if events, err := task.Verify(&s.task, &other, task.VerifyAsk{Asked: s.by("eden")}); refused(t, events, err).Reason != task.CodeDelegation {
		t.Error(err)
	}
}

func TestWhatDelegationsSay(t *testing.T) {
	t.Parallel()
	s := started(t)
	long := attempt("d1")
	long.Work = strings.Repeat("가", 5_000)
	data := s.take(task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: long}))[0].Data.(coordination.Delegation)
	if data.TaskID != "task_1" || data.WorkSessionID != "ws_1" || data.EventRole != coordination.RoleDelegation || data.FromAgent != "eden" || data.ToAgent != "seum" ||
		data.JobID != "d1" || data.Status != "spawned" || data.MaxRetries != task.DefaultRetries || len([]rune(data.Work)) != 4_000 {
		t.Errorf("%+v", data)
	}
	d := s.delegations["d1"]
	s.take(task.Move(&s.task, d, task.MoveAsk{To: "completed", Snapshot: "\x00" + strings.Repeat("나", task.SnapshotLength+1)}))
	if d.Snapshot != strings.Repeat("나", task.SnapshotLength) {
		t.Errorf("a snapshot of %d characters", len([]rune(d.Snapshot)))
	}
	if agents := []string{s.stored[1].agent, s.stored[2].agent, s.stored[3].agent}; !slices.Equal(agents, []string{"eden", "seum", "seum"}) {
		t.Errorf("%v", agents)
	}
	for _, e := range s.stored[1:] {
		var c coordination.Delegation
		if json.Unmarshal(e.data, &c) != nil || c.EventRole != coordination.RoleDelegation || c.TaskID == "" || c.WorkSessionID == "" || c.Status == "" || c.RunID != "run_1" {
			t.Errorf("%s %s", e.typ, e.data)
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	of := func(list ...string) (all []task.Delegation) {
		for _, status := range list {
			all = append(all, task.Delegation{Status: status})
		}
		return all
	}
	for _, tt := range []struct {
		list []task.Delegation
		want task.Summary
	}{
		{nil, task.Summary{}},
		{of("verified"), task.Summary{Total: 1, Verified: 1, AllSettled: true}},
		{of("verified", "abandoned", "rejected"), task.Summary{Total: 3, Verified: 1, Failed: 1, AllSettled: true}},
		{of("completed"), task.Summary{Total: 1, Completed: 1}},
		{of("failed"), task.Summary{Total: 1, Failed: 1}},
		{of(statuses[1:]...), task.Summary{Total: 8, Completed: 1, Verified: 1, Failed: 2, Running: 3}},
	} {
		same(t, task.Summarize(tt.list), tt.want)
	}
}

// Of a long text only the beginning is looked at; it ends between two words, so that no part of a secret is told.
func TestSnapshotsOfLongTexts(t *testing.T) {
	t.Parallel()
	s, d := delegation(t, "running")
	text := strings.Repeat(" ", 64<<10-len(secret)/2) + secret + " end"
	s.take(task.Move(&s.task, d, task.MoveAsk{To: "failed", Error: text}))
	if strings.Contains(d.Error, "sk-") || len(d.Error) == 0 || len(d.Error) > 2_000 {
		t.Errorf("%d bytes: %q", len(d.Error), strings.TrimSpace(d.Error))
	}
}
