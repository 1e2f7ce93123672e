package task_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

const secret = "sk-0123456789abcdef0123"

func TestBeginningsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change      func(*task.StartAsk)
		code, field string
	}{
		"no description":         {func(a *task.StartAsk) { a.Description = " \n\t" }, task.CodeInvalid, "description"},
		"a long description":     {func(a *task.StartAsk) { a.Description = strings.Repeat("x", task.MaxText+1) }, task.CodeInvalid, "description"},
		"NUL in the description": {func(a *task.StartAsk) { a.Description = "a\x00" }, task.CodeInvalid, "description"},
		"a long context":         {func(a *task.StartAsk) { a.Background = strings.Repeat("x", task.MaxText+1) }, task.CodeInvalid, "context"},
		"a source of two lines":  {func(a *task.StartAsk) { a.Source = "a\nb" }, task.CodeInvalid, "source"},
		"a blank step":           {func(a *task.StartAsk) { a.Steps = news("") }, task.CodeInvalid, "steps.content"},
		"too many steps":         {func(a *task.StartAsk) { a.Steps = make([]task.NewStep, task.MaxSteps+1) }, task.CodeFull, "steps"},
		"too many tasks":         {func(a *task.StartAsk) { a.Open = task.MaxOpen }, task.CodeFull, ""},
	} {
		s := newStream(t)
		a := s.start()
		tt.change(&a)
		events, err := task.Start(a)
		if r := refused(t, events, err); r.Reason != tt.code || r.Field != tt.field || len(r.Text) > 500 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s := newStream(t)
	a := s.start()
	a.Description, a.Background, a.Open, a.Steps = strings.Repeat("x", task.MaxText), strings.Repeat("y", task.MaxText), task.MaxOpen-1, nil
	for range task.MaxSteps {
		a.Steps = append(a.Steps, task.NewStep{Content: strings.Repeat("z", task.MaxStepText)})
	}
	s.take(task.Start(a))
}

func TestBacklogsThatAreRefused(t *testing.T) {
	t.Parallel()
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, "task_x"+strconv.Itoa(i))
		}
		return list
	}
	for name, tt := range map[string]struct {
		change      func(*task.BacklogAsk)
		code, field string
	}{
		"no description":        {func(a *task.BacklogAsk) { a.Description = "" }, task.CodeInvalid, "description"},
		"an unknown agent":      {func(a *task.BacklogAsk) { a.Assignee = "nix" }, task.CodeUnknownAgent, "assignee"},
		"a person's own":        {func(a *task.BacklogAsk) { a.Human = true }, task.CodeInvalid, "assignee"},
		"an unknown effort":     {func(a *task.BacklogAsk) { a.Effort = "huge" }, task.CodeInvalid, "estimated_effort"},
		"no start date":         {func(a *task.BacklogAsk) { a.StartDate = "tomorrow" }, task.CodeInvalid, "start_date"},
		"a day that is not":     {func(a *task.BacklogAsk) { a.DueDate = "2026-02-30" }, task.CodeInvalid, "due_date"},
		"a year":                {func(a *task.BacklogAsk) { a.DueDate = "2026" }, task.CodeInvalid, "due_date"},
		"due before it starts":  {func(a *task.BacklogAsk) { a.StartDate, a.DueDate = "2026-03-01", "2026-02-28" }, task.CodeInvalid, "start_date"},
		"too much to wait for":  {func(a *task.BacklogAsk) { a.DependsOn = many(task.MaxDepends + 1) }, task.CodeInvalid, "depends_on"},
		"itself":                {func(a *task.BacklogAsk) { a.DependsOn = []string{"task_1"} }, task.CodeInvalid, "depends_on"},
		"what is unknown":       {func(a *task.BacklogAsk) { a.DependsOn, a.Unknown = many(2), many(1) }, task.CodeUnknown, "depends_on"},
		"a milestone that long": {func(a *task.BacklogAsk) { a.MilestoneID = strings.Repeat("x", 201) }, task.CodeInvalid, "milestone_id"},
		"a milestone's item":    {func(a *task.BacklogAsk) { a.MilestoneItemID = "a\x00" }, task.CodeInvalid, "milestone_item_id"},
		"a full backlog":        {func(a *task.BacklogAsk) { a.Open = task.MaxOpen }, task.CodeFull, ""},
	} {
		s := newStream(t)
		a := s.backlog()
		tt.change(&a)
		events, err := task.AddBacklog(a)
		if r := refused(t, events, err); r.Reason != tt.code || r.Field != tt.field {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s := newStream(t)
	a := s.backlog()
	a.By, a.Human, a.Assignee, a.DependsOn = "지민", true, "ruda", many(task.MaxDepends)
	if events := s.take(task.AddBacklog(a)); events[0].AgentID != "ruda" || s.task.Agent != "ruda" || s.task.CreatedBy != "지민" {
		t.Errorf("%+v", s.task)
	}
}

func TestBlocksThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change      func(*task.BlockAsk)
		code, field string
	}{
		"no reason":     {func(a *task.BlockAsk) { a.Reason = "" }, task.CodeInvalid, "reason"},
		"no agent":      {func(a *task.BlockAsk) { a.By = nil }, task.CodeInvalid, "unblock_by"},
		"blank names":   {func(a *task.BlockAsk) { a.By = []string{" ", ""} }, task.CodeInvalid, "unblock_by"},
		"itself":        {func(a *task.BlockAsk) { a.By = []string{"ruda", "EDEN"} }, task.CodeInvalid, "unblock_by"},
		"a stranger":    {func(a *task.BlockAsk) { a.By = []string{"nix"} }, task.CodeUnknownAgent, "unblock_by"},
		"a long reason": {func(a *task.BlockAsk) { a.Reason = strings.Repeat("x", task.MaxText+1) }, task.CodeInvalid, "reason"},
		"a long action": {func(a *task.BlockAsk) { a.Action = strings.Repeat("x", task.MaxText+1) }, task.CodeInvalid, "unblock_action"},
		"a crowd": {func(a *task.BlockAsk) {
			a.By = nil
			for i := range task.MaxUnblockers + 1 {
				a.By = append(a.By, "agent"+strconv.Itoa(i))
			}
		}, task.CodeInvalid, "unblock_by"},
	} {
		s := started(t)
		a := s.block("ruda")
		tt.change(&a)
		events, err := task.Block(&s.task, a)
		if r := refused(t, events, err); r.Reason != tt.code || r.Field != tt.field {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s := started(t)
	a := s.block("ruda")
	a.Reason = strings.Repeat("가", task.MaxText/3)
	s.take(task.Block(&s.task, a))
	if len(s.task.Progress) > task.MaxLine || !strings.HasPrefix(s.task.Progress, "[BLOCKED] 가") || !strings.HasSuffix(s.task.Progress, "가...") || s.task.Blocked.Reason != a.Reason {
		t.Errorf("%d bytes", len(s.task.Progress))
	}
}

func TestRejectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", " \n\t", "a\x00", "\xff", strings.Repeat("x", task.MaxText+1)} {
		s := in(t, coordination.StatePendingApproval)
		events, err := task.Reject(&s.task, task.ApproveAsk{Asked: s.by("ruda")}, reason)
		if r := refused(t, events, err); r.Reason != task.CodeInvalid || r.Field != "reason" {
			t.Errorf("%.20q: %+v", reason, r)
		}
	}
	s := in(t, coordination.StatePendingApproval)
	reason := strings.Repeat("가", task.MaxText/3)
	s.take(task.Reject(&s.task, task.ApproveAsk{Asked: s.by("ruda")}, reason))
	if s.task.Outcome.Reason != reason || len(s.task.Progress) > task.MaxLine {
		t.Errorf("a reason of %d bytes, a line of %d", len(s.task.Outcome.Reason), len(s.task.Progress))
	}
}

func TestPicksThatAreRefused(t *testing.T) {
	t.Parallel()
	s := in(t, coordination.StateBacklog)
	events, err := task.Pick(&s.task, task.PickAsk{Asked: s.by("eden"), Active: "task_9"})
	if r := refused(t, events, err); r.Reason != task.CodeBusy || !strings.Contains(r.Text, "task_9") {
		t.Errorf("%+v", r)
	}
	const midnight = 1_772_236_800_000 // of 2026-02-28
	for date, begins := range map[string]int64{"2026-02-28": midnight, "2026-02-28T09:00:00+09:00": midnight, "2026-02-28T00:00:01Z": midnight + 1000, "someday": 0, "": 0} {
		s.task.Backlog.StartDate = date
		if why := task.Pickable(&s.task, nil, begins); why != "" {
			t.Errorf("%q: %s", date, why)
		}
		if begins == 0 {
			continue
		}
		a := task.PickAsk{Asked: task.Asked{By: "eden", Now: begins - 1}}
		events, err := task.Pick(&s.task, a)
		if r := refused(t, events, err); r.Reason != task.CodeNotYet || !strings.Contains(r.Text, date) {
			t.Errorf("%+v", r)
		}
	}
}

// No text of an agent comes to the log with a secret in it, nor does what a refusal tells.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	var all []task.Event
	keep := func(events []task.Event, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	s := newStream(t)
	a := s.start(secret)
	a.Description, a.Background, a.Source = "d "+secret, "c "+secret, "user "+secret
	keep(task.Start(a))
	b := s.backlog()
	b.Description, b.Background, b.MilestoneID, b.MilestoneItemID, b.DependsOn = secret, secret, secret, secret, []string{secret}
	keep(task.AddBacklog(b))
	s = started(t, "a")
	keep(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Progress: secret, Action: "add_step", StepContent: secret}))
	keep(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "set_steps", Steps: news(secret)}))
	keep(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Summary: secret, Force: true}))
	keep(task.Cancel(&s.task, task.Asked{By: secret, Human: true}, secret))
	waiting := in(t, coordination.StatePendingApproval)
	keep(task.Approve(&waiting.task, task.ApproveAsk{Asked: task.Asked{By: secret, Human: true}}))
	keep(task.Reject(&waiting.task, task.ApproveAsk{Asked: task.Asked{By: secret, Human: true}}, secret))
	block := s.block("ruda")
	block.Reason, block.Action = secret, secret
	keep(task.Block(&s.task, block))
	d := attempt("d1")
	d.Label, d.Work = secret, secret
	keep(task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: d}))
	d.Status, d.TaskID = "running", "task_1"
	keep(task.Move(&s.task, &d, task.MoveAsk{To: "completed", Snapshot: secret}))
	keep(task.Move(&s.task, &d, task.MoveAsk{To: "failed", Error: secret}))
	d.Status = "completed"
	keep(task.Verify(&s.task, &d, task.VerifyAsk{Asked: s.by("eden"), Note: secret}))
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) || strings.Count(string(text), "***") < 25 {
		t.Errorf("%s", text)
	}
	for _, err := range []error{
		second(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: secret})),
		second(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "skip_step", StepID: secret})),
		second(task.Verify(&s.task, &d, task.VerifyAsk{Asked: s.by("eden"), Action: secret})),
	} {
		if code(err) == "" || strings.Contains(err.Error(), secret) {
			t.Error(err)
		}
	}
}

// Texts are logged unchanged, including white space and Markdown.
func TestTextsAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	const hostile = "  ## Progress\n---\n\n*Managed by task tools*\r\n\t- [x] (s1) x 👩‍💻 \u200b {\"a\":1} *(No task)*\n "
	s := newStream(t)
	a := s.start(hostile)
	a.Description, a.Background = hostile, hostile
	s.take(task.Start(a))
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Progress: hostile}))
	if s.task.Description != hostile || s.task.Background != hostile || s.task.Steps[0].Content != hostile || s.task.Progress != hostile {
		t.Errorf("%+v", s.task)
	}
	s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Summary: hostile, Force: true}))
	if s.task.Outcome.Summary != hostile || !slices.Contains(s.progress, hostile) {
		t.Errorf("%+v", s.task)
	}
}
