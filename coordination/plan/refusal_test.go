package plan_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/plan"
)

func TestPlansThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change      func(*plan.SubmitAsk)
		code, field string
	}{
		"a person's":            {func(a *plan.SubmitAsk) { a.Human = true }, plan.CodeNotAllowed, ""},
		"of no task":            {func(a *plan.SubmitAsk) { a.Task = plan.Task{} }, plan.CodeUnknownTask, "task_id"},
		"for another's task":    {func(a *plan.SubmitAsk) { a.Task.Agent = "ruda" }, plan.CodeUnknownTask, "task_id"},
		"for a task that ended": {func(a *plan.SubmitAsk) { a.Task.Over = true }, plan.CodeState, "task_id"},
		"too many at a time":    {func(a *plan.SubmitAsk) { a.Pending = plan.MaxPending }, plan.CodeFull, ""},
		"no title":              {func(a *plan.SubmitAsk) { a.Title = " \t" }, plan.CodeInvalid, "title"},
		"a long title":          {func(a *plan.SubmitAsk) { a.Title = strings.Repeat("x", plan.MaxTitle+1) }, plan.CodeInvalid, "title"},
		"a title of two lines":  {func(a *plan.SubmitAsk) { a.Title = "a\nb" }, plan.CodeInvalid, "title"},
		"a title of no text":    {func(a *plan.SubmitAsk) { a.Title = "a\xff" }, plan.CodeInvalid, "title"},
		"no steps":              {func(a *plan.SubmitAsk) { a.Steps = nil }, plan.CodeInvalid, "steps"},
		"a blank step":          {func(a *plan.SubmitAsk) { a.Steps = []string{"a", "\u3000"} }, plan.CodeInvalid, "steps"},
		"a step with NUL":       {func(a *plan.SubmitAsk) { a.Steps = []string{"a\x00"} }, plan.CodeInvalid, "steps"},
		"a long step":           {func(a *plan.SubmitAsk) { a.Steps = []string{strings.Repeat("x", plan.MaxStepText+1)} }, plan.CodeInvalid, "steps"},
		"too many steps":        {func(a *plan.SubmitAsk) { a.Steps = numbered("s", plan.MaxSteps+1) }, plan.CodeFull, "steps"},
		"a blank tool":          {func(a *plan.SubmitAsk) { a.Tools = []string{""} }, plan.CodeInvalid, "tools_requested"},
		"a tool with a long name": {func(a *plan.SubmitAsk) {
			a.Tools = []string{strings.Repeat("x", plan.MaxToolName+1)}
			a.Known = a.Tools
		}, plan.CodeInvalid, "tools_requested"},
		"a tool that there is not": {func(a *plan.SubmitAsk) { a.Tools = []string{"exec", "nothing"} }, plan.CodeUnknownTool, "tools_requested"},
		"a pattern":                {func(a *plan.SubmitAsk) { a.Tools = []string{"*"} }, plan.CodeUnknownTool, "tools_requested"},
		"a group":                  {func(a *plan.SubmitAsk) { a.Tools = []string{"group:tasks"} }, plan.CodeUnknownTool, "tools_requested"},
		"where no tool is known":   {func(a *plan.SubmitAsk) { a.Known = nil }, plan.CodeUnknownTool, "tools_requested"},
		"too many tools": {func(a *plan.SubmitAsk) {
			a.Known = numbered("tool", plan.MaxTools+1)
			a.Tools = a.Known
		}, plan.CodeFull, "tools_requested"},
	} {
		a := submission()
		tt.change(&a)
		e, err := plan.Submit(a)
		if r := refused(t, e, err); r.Reason != tt.code || r.Field != tt.field {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Who asks for a tool that there is not is told which there are, as far as that is a few.
func TestWhichToolsAPlanCanAskFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known      []string
		says, last string
	}{
		"none": {nil, "leave tools_requested out", "plan"},
		"some": {[]string{"write", "exec"}, "of write, exec", "exec"},
		"many": {numbered("tool", 30), "of " + strings.Join(numbered("tool", 30)[:20], ", ") + " and others", "others"},
	} {
		a := submission()
		a.Tools, a.Known = []string{"nothing"}, c.known
		e, err := plan.Submit(a)
		if r := refused(t, e, err); !strings.Contains(r.HintText, c.says) || !strings.HasSuffix(r.HintText, c.last) {
			t.Errorf("%s: %q", name, r.HintText)
		}
	}
}

// What is as large as may be is taken, and nothing of it is lost.
func TestTheLargestPlan(t *testing.T) {
	t.Parallel()
	a := submission()
	a.Title, a.Pending, a.Known = strings.Repeat("x", plan.MaxTitle), plan.MaxPending-1, numbered("tool", plan.MaxTools)
	a.Steps, a.Tools = nil, append(a.Known, a.Known...)
	for range plan.MaxSteps {
		a.Steps = append(a.Steps, strings.Repeat("z", plan.MaxStepText))
	}
	s := newStream(t)
	s.take(plan.Submit(a))
	same(t, s.plan.Title, a.Title)
	same(t, s.plan.Steps, a.Steps)
	same(t, s.plan.Tools, a.Known)
	reason := strings.Repeat("가", plan.MaxReason/3)
	s.take(plan.Reject(&s.plan, lead(), reason))
	same(t, s.plan.Reason, reason)
}

// Texts are logged unchanged; names are normalized.
func TestTextsAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	const hostile = "  ## Steps\n---\r\n\t- [x] 👩‍💻 \u200b {\"a\":1}\n "
	a := submission()
	a.Title, a.Steps, a.Tools = "  배포 계획\n", []string{hostile, hostile}, []string{" EXEC\n", "exec", "Read"}
	s := newStream(t)
	s.take(plan.Submit(a))
	same(t, s.plan.Title, "배포 계획")
	same(t, s.plan.Steps, []string{hostile, hostile})
	same(t, s.plan.Tools, []string{"exec", "read"})
	same(t, a.Tools, []string{" EXEC\n", "exec", "Read"})
	a.Tools = nil
	s = newStream(t)
	s.take(plan.Submit(a))
	if s.plan.Tools != nil {
		t.Errorf("%v", s.plan.Tools)
	}
}

// No text of an agent comes to the log with a secret in it, nor does what a refusal tells.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	a := submission()
	a.Title, a.Steps = "t "+secret, []string{secret, "password=hunter22"}
	s := newStream(t)
	person := plan.DecideAsk{Asked: plan.Asked{By: secret, Human: true}}
	submitted := s.take(plan.Submit(a))
	text := marshal(t, []plan.Event{submitted, s.taken(plan.Approve(&s.plan, person)), s.taken(plan.Reject(&s.plan, person, secret))})
	if strings.Contains(text, secret) || strings.Contains(text, "hunter22") || strings.Count(text, "***") != 8 { // the title is in each
		t.Errorf("%s", text)
	}
	tool, task, agent := submission(), submission(), lead()
	tool.Tools, task.Task.ID, task.Task.Agent, agent.By, agent.Lead = []string{secret}, secret, "ruda", secret, false
	for _, err := range []error{second(plan.Submit(tool)), second(plan.Submit(task)), second(plan.Approve(&s.plan, agent)), plan.Unknown(secret),
		plan.NewGate(nil, "eden", "task_1").Check(secret)} {
		if r := refused(t, plan.Event{}, err); strings.Contains(r.Text+r.HintText, secret) || !strings.Contains(r.Text, "***") {
			t.Error(err)
		}
	}
	if r := plan.Unknown(strings.Repeat("é", 1000)); len(r.Text) > 200 {
		t.Errorf("%d bytes", len(r.Text))
	}
}

// A plan is decided by a lead or a person, never by its submitter.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		by    plan.DecideAsk
		owner string
		may   bool
	}{
		"a lead":                     {lead(), "eden", true},
		"a person":                   {plan.DecideAsk{Asked: plan.Asked{By: "지민", Human: true}}, "eden", true},
		"a person called like it":    {plan.DecideAsk{Asked: plan.Asked{By: "eden", Human: true}}, "eden", true},
		"another agent":              {plan.DecideAsk{Asked: plan.Asked{By: "seum"}}, "eden", false},
		"the owner":                  {plan.DecideAsk{Asked: plan.Asked{By: "eden"}}, "eden", false},
		"the owner, who is a lead":   {lead(), "ruda", false},
		"the owner, in other letter": {plan.DecideAsk{Asked: plan.Asked{By: "Ruda"}, Lead: true}, "ruda", false},
	} {
		a := submission()
		a.By, a.Task.Agent = tt.owner, tt.owner
		s := newStream(t)
		s.take(plan.Submit(a))
		for _, decide := range []func() (plan.Event, error){
			func() (plan.Event, error) { return plan.Approve(&s.plan, tt.by) },
			func() (plan.Event, error) { return plan.Reject(&s.plan, tt.by, "r") },
		} {
			e, err := decide()
			if tt.may {
				if err != nil || e.Data.DecidedBy != tt.by.By || e.AgentID != tt.owner {
					t.Errorf("%s: %+v, %v", name, e, err)
				}
			} else if r := refused(t, e, err); r.Reason != plan.CodeNotAllowed {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestDecisionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for status, code := range map[string]string{"": plan.CodeUnknown, plan.Approved: plan.CodeState, plan.Rejected: plan.CodeState} {
		s := in(t, status)
		for _, err := range []error{second(plan.Approve(&s.plan, lead())), second(plan.Reject(&s.plan, lead(), "r"))} {
			if r := refused(t, plan.Event{}, err); r.Reason != code || r.Field != "plan_id" || !strings.Contains(r.Text, status) {
				t.Errorf("%q: %+v", status, r)
			}
		}
	}
	long := strings.Repeat("x", plan.MaxReason+1)
	for name, reason := range map[string]string{"none": "", "blank": " \n", "long": long, "no text": "\xff", "NUL": "a\x00"} {
		s := in(t, plan.Pending)
		e, err := plan.Reject(&s.plan, lead(), reason)
		if r := refused(t, e, err); r.Reason != plan.CodeInvalid || r.Field != "reason" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func numbered(word string, n int) (list []string) {
	for i := range n {
		list = append(list, word+strconv.Itoa(i))
	}
	return list
}
