package notifier

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

const (
	approvalSource = "approvals"

	shownSteps = 15  // requests for approval
	stepLength = 200 // characters
	textLength = 600 // characters of a title, or of a description

	argumentsLength = 1_000 // characters of a call's arguments, as they are shown
)

// approvals asks people in a channel to approve tasks, plans and calls of tools.
type approvals struct {
	w       *watch
	channel string
}

func (a *approvals) id() string { return named(a.channel, approvalSource, "-") }

func (a *approvals) enabled(c *config.Config) bool { return hasNotices(c, a.channel) }

func (a *approvals) notification(_ context.Context, c *config.Config, e *eventstore.Event) (*notification, error) {
	switch e.Type {
	case coordination.TypeTaskStarted:
		return a.ofTask(c, e)
	case coordination.TypePlanSubmitted:
		return a.ofPlan(c, e)
	case coordination.TypeToolApprovalRequested:
		return a.ofCall(c, e)
	}
	return nil, nil
}

func (a *approvals) ofTask(c *config.Config, e *eventstore.Event) (*notification, error) {
	var started coordination.TaskStarted
	if err := json.Unmarshal(e.Data, &started); err != nil {
		return nil, &permanentError{fmt.Errorf("read %s: %w", e.Type, err)}
	}
	if !started.RequiresApproval || started.TaskID == "" {
		return nil, nil
	}
	var steps []string
	for _, s := range started.Steps {
		steps = append(steps, s.Content)
	}
	text := a.heading(c, c.Language().Say("작업", "a task"), started.TaskID, e.AgentID, "") + a.w.line(started.Description, textLength) + "\n" + a.list(c, steps, len(steps))
	return &notification{work: func(tx eventstore.Tx) (*coordination.WorkScheduled, error) {
		t, found, err := tasks.Load(tx, started.TaskID)
		if err != nil || !found || t.Status != coordination.StatePendingApproval {
			return nil, err // it was decided meanwhile
		}
		return a.request(c, started.TaskID, text, &started.Context, true)
	}}, nil
}

func (a *approvals) ofPlan(c *config.Config, e *eventstore.Event) (*notification, error) {
	var p coordination.Plan
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return nil, &permanentError{fmt.Errorf("read %s: %w", e.Type, err)}
	}
	if p.PlanID == "" {
		return nil, nil
	}
	text := a.heading(c, c.Language().Say("계획", "a plan"), p.PlanID, e.AgentID, p.TaskID) + a.w.line(p.Title, textLength) + "\n" + a.list(c, p.Steps, p.StepsCount)
	if len(p.ToolsRequested) > 0 {
		text += c.Language().Say("요청한 도구", "Requested tools") + ": " + a.w.line(strings.Join(p.ToolsRequested, ", "), textLength) + "\n"
	}
	return &notification{work: func(tx eventstore.Tx) (*coordination.WorkScheduled, error) {
		is, found, err := plans.Load(tx, p.PlanID)
		if err != nil || !found || is.Status != plan.Pending {
			return nil, err
		}
		return a.request(c, p.PlanID, text, &p.Context, true)
	}}, nil
}

func (a *approvals) ofCall(c *config.Config, e *eventstore.Event) (*notification, error) {
	var asked coordination.CallApprovalRequested
	if err := json.Unmarshal(e.Data, &asked); err != nil {
		return nil, &permanentError{fmt.Errorf("read %s: %w", e.Type, err)}
	}
	if asked.ApprovalID == "" {
		return nil, nil
	}
	text := a.heading(c, c.Language().Say("도구 호출", "a call"), asked.ApprovalID, e.AgentID, asked.TaskID)
	called, whole := shownCall(c.Language(), &asked)
	if in := approval.InputOf(asked.Input); in != nil {
		text = a.heading(c, c.Language().Say("입력", "input"), asked.ApprovalID, e.AgentID, asked.TaskID)
		wanted, all := a.shownInput(c.Language(), asked.ApprovalID, in)
		called, whole = called+wanted, whole && all
	}
	text += called + fmt.Sprintf(c.Language().Say("%s까지 결정이 없으면 거절됩니다", "Refused if no one decides until %s"), clock(a.channel, asked.ExpiresAt))
	return &notification{work: func(tx eventstore.Tx) (*coordination.WorkScheduled, error) {
		is, found, err := permissions.Load(tx, asked.ApprovalID)
		if err != nil || !found || is.StatusAt(a.w.Now().UnixMilli()) != permission.Pending {
			return nil, err
		}
		return a.request(c, asked.ApprovalID, text, &asked.Context, whole)
	}}, nil
}

// shownInput is what a call wants from people. all is false if they cannot give it with a button.
func (a *approvals) shownInput(say coordination.Language, id string, in *approval.Input) (text string, all bool) {
	text = fmt.Sprintf(say.Say("서버의 질문: %s\n", "The server asks: %s\n"), a.w.line(in.Message, textLength))
	all = len([]rune(in.Message)) <= textLength && !in.NeedsValues()
	if in.URL != "" {
		address, n := visible(in.URL, argumentsLength)
		text += say.Say("주소", "Address") + ": `" + strings.ReplaceAll(address, "`", "%60") + "`\n"
		all = all && n == len(in.URL)
	}
	var fields []string
	for i := range in.Fields {
		if f := &in.Fields[i]; f.Required {
			fields = append(fields, f.Name)
		}
	}
	if len(fields) > 0 {
		text += fmt.Sprintf(say.Say("필요한 값: %[1]s. 명령: `openclawd approvals approve %[2]s --set 이름=값`\n",
			"Values needed: %[1]s. Give them with `openclawd approvals approve %[2]s --set NAME=VALUE`\n"), a.w.line(strings.Join(fields, ", "), textLength), id)
	}
	return text + in.Note(say) + "\n", all
}

// heading names what waits and its owner.
func (a *approvals) heading(c *config.Config, what, id, agent, taskID string) string {
	said := c.Language()
	text := fmt.Sprintf(said.Say("**%s 승인 요청** `%s`\n요청: %s", "**Approval of %s** `%s`\nBy %s"), what, a.w.line(id, textLength),
		a.w.line(a.w.names().Name(agent), stepLength))
	if taskID != "" {
		text += fmt.Sprintf(said.Say(" · 작업 `%s`", " · task `%s`"), a.w.line(taskID, textLength))
	}
	return text + "\n"
}

// list renders steps, of which there are total.
func (a *approvals) list(c *config.Config, steps []string, count int) string {
	var b strings.Builder
	for i, step := range steps[:min(len(steps), shownSteps)] {
		fmt.Fprintf(&b, "%d. %s\n", i+1, a.w.line(step, stepLength))
	}
	if more := max(count, len(steps)) - min(len(steps), shownSteps); more > 0 {
		fmt.Fprintf(&b, c.Language().Say("… 외 %d개\n", "… %d more\n"), more)
	}
	return b.String()
}

// request posts a request. Where people do not see the whole of it, they cannot approve it there.
func (a *approvals) request(c *config.Config, id, text string, in *coordination.Context, whole bool) (*coordination.WorkScheduled, error) {
	d := a.w.toPeople(c, a.channel, delivery.Approval, strings.TrimRight(text, "\n"))
	d.Context, d.ApprovalID, d.Components = contextOf(in), id, a.w.Buttons(a.channel, id, whole)
	return workOf(&d, named(a.channel, "approval/"+short(id), "/"))
}
