package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/services/scheduler"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/callapproval"
	"github.com/pronto-lab/openclawd/tools/effects"
)

// checked carries out the checks that are queued, until something is so.
func (p *plan) checked(until func() bool) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), testscale.Patience)
	w := worker.New(worker.Options{Log: p.db, Handlers: map[string]worker.Handler{scheduler.CheckKind: p.Checks()},
		Pools: func() map[string]int { return map[string]int{scheduler.CheckPool: 1} }, Now: func() time.Time { return p.now }})
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for !until() {
		head, err := p.db.Head(ctx)
		if err == nil && !until() {
			_, err = p.db.Wait(ctx, head.Seq+1)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		p.t.Fatal(err)
	}
}

// beat has a job be due, and returns how its run has ended.
func (p *plan) beat(job string) (status, why string) {
	p.t.Helper()
	p.now = p.now.Add(2 * time.Hour) // later than any back-off
	p.look()
	before := len(p.history(job))
	p.checked(func() bool { return len(p.openRuns()) > 0 || len(p.history(job)) > before })
	p.finish(false)
	list := p.history(job)
	last := list[len(list)-1]
	return last.Status, last.End.Error
}

// A check decides without a model whether the agent runs, which is told what was found.
func TestCheckDecides(t *testing.T) {
	t.Parallel()
	p := newPlan(t, `{"cron": {"triggers": {"enabled": true}}, "tools": {"exec": {"sandbox": "off"}}, `+strings.TrimPrefix(settings, "{"))
	j := p.add(every(time.Hour), func(j *coordination.CronJob) {
		j.Check = &coordination.CronCheck{Command: []string{"sh", "-c", "test -f broken && exit 7; test -f mail || exit 1; cat mail"}}
	})
	beat := func() (status, why string) { return p.beat(j.Job.ID) }
	if status, why := beat(); status != schedule.Skipped || why != "there is nothing to do" {
		t.Errorf("nothing to do: %s, %s", status, why)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "mail"), []byte("three letters"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, why := beat(); status != schedule.OK {
		t.Errorf("something to do: %s, %s", status, why)
	}
	if !p.isTold("three letters") {
		t.Error("the agent is not told what was found")
	}
	if err := os.WriteFile(filepath.Join(p.dir, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, why := beat(); status != schedule.Error || !strings.Contains(why, "exit status 7") {
		t.Errorf("a broken check: %s, %s", status, why)
	}
}

// isTold reports whether an agent was told a text.
func (p *plan) isTold(text string) bool {
	p.t.Helper()
	for _, e := range p.events(coordination.TypeRunQueued) {
		if strings.Contains(string(e.Data), text) {
			return true
		}
	}
	return false
}

// events lists the events of a type.
func (p *plan) events(typ string) (list []eventstore.Event) {
	p.t.Helper()
	events, err := p.db.Read(p.t.Context(), 0, 1_000)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == typ {
			list = append(list, e)
		}
	}
	return list
}

// server is an MCP server with one tool.
type server struct {
	set  *tools.Set
	says func() (tool.Output, error)
}

func (s *server) Sets() []*tools.Set                              { return []*tools.Set{s.set} }
func (s *server) Await(context.Context, func(prefix string) bool) {}

// withTools lets checks of a plan ask the tool mail__unread, and returns what answers for it.
func (p *plan) withTools(repeat tools.Repeat) *server {
	p.t.Helper()
	s := &server{}
	s.set, _ = tools.NewSet([]tools.Tool{{Spec: tool.Spec{Name: "mail__unread", Group: tool.GroupMCP, Schema: json.RawMessage(`{"type":"object"}`)},
		Effect: tools.Effect{Outside: true, Server: "mail", Repeat: repeat},
		Do:     func(context.Context, *tools.Call) (tool.Output, error) { return s.says() }}})
	logger := slog.New(slog.NewTextHandler(p.t.Output(), nil))
	now := func() time.Time { return p.now }
	box, err := tools.New(tools.Options{Config: func() *config.Config { return p.conf }, Logger: logger, Sources: []tools.Source{s},
		Journal: effects.New(effects.Options{Log: p.db.Decided(), Now: now, NewID: p.id, Logger: logger}),
		Guard:   callapproval.New(callapproval.Options{Log: p.db.Decided(), Now: now, Workspace: func(string) string { return p.dir }}).Guard})
	if err != nil {
		p.t.Fatal(err)
	}
	p.box = box
	return s
}

const toolSettings = `{"cron": {"triggers": {"enabled": true}}, "mcp": {"servers": {"mail": {"command": "mail"}}}, `

// The tool of an MCP server decides like a command: no value, or a text that the job names, is nothing to do. Its calls are those of the agent:
// recorded before and after, and only if the agent may make them.
func TestToolDecides(t *testing.T) {
	t.Parallel()
	p := newPlan(t, toolSettings+strings.TrimPrefix(settings, "{"))
	says := p.withTools(tools.RepeatReadOnly)
	j := p.add(every(time.Hour), func(j *coordination.CronJob) {
		j.Check = &coordination.CronCheck{Tool: "mail__unread", Arguments: json.RawMessage(`{"folder":"in"}`), Nothing: "no new mail"}
	})
	for _, c := range []struct {
		says            tool.Output
		fails           error
		status, because string
	}{
		{tool.Output{Text: " [] "}, nil, schedule.Skipped, "there is nothing to do"},
		{tool.Output{Text: "There is no new mail."}, nil, schedule.Skipped, "there is nothing to do"},
		{tool.Output{Text: "three letters"}, nil, schedule.OK, ""},
		{tool.Output{Text: "the mailbox is locked", IsError: true}, nil, schedule.Error, "the mailbox is locked"},
		{tool.Output{}, &tool.Error{Code: tool.CodeUnavailable, Text: "mail is down", Hint: "wait"}, schedule.Error, "mail is down: wait"},
		{tool.Output{}, &tools.UnknownOutcomeError{Reason: "timeout", Err: errors.New("late")}, schedule.Error, "there was no answer in time"},
	} {
		says.says = func() (tool.Output, error) { return c.says, c.fails }
		if status, why := p.beat(j.Job.ID); status != c.status || !strings.Contains(why, c.because) {
			t.Errorf("%+v, %v: %s, %s", c.says, c.fails, status, why)
		}
	}
	if !p.isTold("three letters") {
		t.Error("the agent is not told what was found")
	}
	var called coordination.ToolCalled
	made := p.events(coordination.TypeToolCalled)
	if err := json.Unmarshal(made[0].Data, &called); err != nil {
		t.Fatal(err)
	}
	if called.Tool != "mail__unread" || called.Entry != string(tool.ByJob) || called.By != "job "+j.Job.ID || string(called.Arguments) != `{"folder":"in"}` ||
		called.SessionKey != "agent:main:cron:"+j.Job.ID || made[0].AgentID != "main" {
		t.Errorf("the call is recorded as %+v of %s", called, made[0].AgentID)
	}
	if ended, unknown := p.events(coordination.TypeToolEnded), p.events(coordination.TypeToolOutcomeUnknown); len(made) != 6 || len(ended) != 5 || len(unknown) != 1 {
		t.Errorf("%d calls have %d ends, and %d are unknown", len(made), len(ended), len(unknown))
	}
}

// A check by a tool that the agent may not call, or only with a decision of a person, is an error, and no call.
func TestToolOfACheckNeedsThePolicy(t *testing.T) {
	t.Parallel()
	for policy, because := range map[string]string{
		`"tools": {"deny": ["mail__*"]}, `:                                                  "Tool not available: mail__unread",
		`"tools": {"approvals": {"rules": [{"tools": ["mail__*"], "decision": "ask"}]}}, `:  "needs a decision of a person",
		`"tools": {"approvals": {"rules": [{"tools": ["mail__*"], "decision": "deny"}]}}, `: "a rule of the configuration forbids",
	} {
		p := newPlan(t, toolSettings+policy+strings.TrimPrefix(settings, "{"))
		p.withTools(tools.RepeatNever).says = func() (tool.Output, error) { panic("it is called") }
		j := p.add(every(time.Hour), func(j *coordination.CronJob) { j.Check = &coordination.CronCheck{Tool: "mail__unread"} })
		if status, why := p.beat(j.Job.ID); status != schedule.Error || !strings.Contains(why, because) || len(p.events(coordination.TypeToolCalled)) > 0 {
			t.Errorf("%s: %s, %s", policy, status, why)
		}
	}
}

// A check that can never be asked is refused with the field at fault.
func TestChecksThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlan(t, toolSettings+strings.TrimPrefix(settings, "{"))
	for field, checks := range map[string][]coordination.CronCheck{
		"check":                {{Command: []string{"true"}, Tool: "mail__unread"}},
		"check.command":        {{}, {Command: []string{""}}, {Command: []string{"a", "\x00"}}},
		"check.tool":           {{Tool: "exec"}, {Tool: "mail__"}, {Tool: "other__unread"}, {Arguments: json.RawMessage(`{}`)}, {Nothing: "x"}},
		"check.arguments":      {{Tool: "mail__unread", Arguments: json.RawMessage(`[1]`)}, {Tool: "mail__unread", Arguments: json.RawMessage(`null`)}},
		"check.nothing":        {{Tool: "mail__unread", Nothing: strings.Repeat("x", 4097)}},
		"check.timeoutSeconds": {{Tool: "mail__unread", TimeoutSeconds: -1}},
	} {
		for _, c := range checks {
			_, err := p.Add(t.Context(), coordination.CronJob{Name: "job", Enabled: true, Schedule: every(time.Hour), Check: &c,
				Payload: coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "do it"}}, "test")
			if refused, is := errors.AsType[*schedule.Refusal](err); !is || refused.Field != field || refused.HintText == "" {
				t.Errorf("%+v: %v, want a refusal of %s", c, err, field)
			}
		}
	}
}
