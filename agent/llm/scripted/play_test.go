package scripted_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
)

const lastSeen = int64(1_790_000_000_000)

// promptOf is the prompt for a task an hour after its last activity, to eden or to the agent that is asked for help.
func promptOf(t *testing.T, one task.Task, set func(*continuation.Situation)) string {
	t.Helper()
	one.ID, one.Agent, one.Priority, one.ActiveAt = "task_1", "eden", "high", lastSeen
	s := continuation.Situation{Agent: "eden", Policy: continuation.DefaultPolicy(), Tasks: []task.Task{one}, Lead: "main"}
	if set != nil {
		set(&s)
	}
	d := continuation.Next(&s, lastSeen+time.Hour.Milliseconds())
	if d.Prompt == "" {
		t.Fatalf("no prompt is due: %+v", d)
	}
	if d.Kind == continuation.Ask {
		return "[eden]: " + d.Prompt // as messages between agents begin
	}
	return d.Prompt
}

func working(description string, statuses ...string) task.Task {
	one := task.Task{Status: coordination.StateInProgress, Description: description}
	for i, status := range statuses {
		id := "s" + string(rune('1'+i))
		one.Steps = append(one.Steps, coordination.TaskStep{ID: id, Content: "part " + id, Status: status, Order: i + 1})
	}
	return one
}

func stopped(requests int) task.Task {
	return task.Task{Status: coordination.StateBlocked, Description: "tile the roof",
		Blocked: task.Blocked{By: []string{"seum"}, Reason: "no tiles", Requests: requests, LastIndex: -1}}
}

// asks is a request with the prompt as the only message, and the tools of tasks.
func asks(model, prompt string) *llm.Request {
	r := says(prompt)
	r.Model, r.Tools = model, []llm.Tool{{Name: "task_update"}, {Name: "task_complete"}, {Name: "task_resume"}, {Name: "agents_list"}, {Name: "session_status"}}
	return r
}

// answered adds the result of a tool to an answer.
func answered(r *llm.Request, a *llm.Answer, said string) {
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Text: a.Text, ToolCalls: a.ToolCalls},
		llm.Message{Role: llm.ToolRole, ToolCallID: a.ToolCalls[0].ID, ToolName: a.ToolCalls[0].Name, Text: said})
}

func complete(t *testing.T, r *llm.Request) *llm.Answer {
	t.Helper()
	a, err := scripted.New(scripted.Default(), noPause).Complete(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The prompts are the real ones: if one is reworded, the script has to follow.
func TestScriptedPlayerFollowsPrompts(t *testing.T) {
	t.Parallel()
	after := func(care continuation.Care) func(*continuation.Situation) {
		return func(s *continuation.Situation) { s.State.Tasks = map[string]continuation.Care{"task_1": care} }
	}
	well := func(s *continuation.Situation) {
		s.State.Ended.OK, s.State.Ended.RunID, s.State.Ended.At = true, "r", lastSeen
	}
	restarted := func(s *continuation.Situation) { s.RestartedAt = lastSeen + 1 }
	backlog := func(s *continuation.Situation) {
		s.Tasks[0].Status = coordination.StateBacklog
		s.Pickable, s.Waiting = &s.Tasks[0], 1
	}
	completed, remains := `{"success":true,"taskId":"task_1","steps":{"total":1}}`, `{"success":true,"taskId":"task_1","currentStep":"s2"}`
	defined := `{"success":true,"taskId":"task_1","currentStep":"s1"}`
	step := `{"task_id":"task_1","action":"complete_step","step_id":"s1"}`
	end := `{"task_id":"task_1","summary":"The script has ended it. No model is configured, so nothing was really done."}`
	divide := `{"task_id":"task_1","action":"set_steps","steps":[{"content":"See what is wanted"},{"content":"Do it, and check it"}]}`
	for name, c := range map[string]struct {
		prompt          string
		tool, arguments string // "" for none
		result          string
		says            string // part of it, after the tool
	}{
		"step":             {promptOf(t, working("tile", "in_progress", "pending"), nil), "task_update", step, remains, "Step s1 is done: part s1\nThe next one is s2."},
		"self-driving":     {promptOf(t, working("tile", "in_progress", "pending"), well), "task_update", step, remains, "Step s1 is done: part s1"},
		"restart":          {promptOf(t, working("tile", "in_progress", "pending"), restarted), "task_update", step, remains, "Step s1 is done: part s1"},
		"backlog, steps":   {promptOf(t, working("tile", "pending", "pending"), backlog), "task_update", step, remains, "Step s1 is done: part s1"},
		"Korean":           {promptOf(t, working("지붕 고치기", "in_progress", "pending"), nil), "task_update", step, remains, "s1 단계를 마쳤습니다: part s1\n다음은 s2 단계입니다."},
		"all done":         {promptOf(t, working("tile", "done"), nil), "task_complete", end, completed, "“tile” is over. No model is configured"},
		"no steps":         {promptOf(t, working("tile"), nil), "task_complete", end, completed, "“tile” is over."},
		"no steps, Korean": {promptOf(t, working("지붕 고치기"), nil), "task_complete", `{"task_id":"task_1","summary":"대본대로 끝냈습니다. 모델이 설정되지 않아 실제로 한 일은 없습니다."}`, completed, "‘지붕 고치기’ 작업을 끝냈습니다."},
		"define":           {promptOf(t, working("tile"), well), "task_update", divide, defined, "I have divided “tile” into steps and begin with s1."},
		"backlog":          {promptOf(t, working("tile"), backlog), "task_update", divide, defined, "I have divided “tile” into steps"},
		"unblock":          {promptOf(t, stopped(0), nil), "task_resume", `{"task_id":"task_1"}`, completed, "Task task_1 can go on again. No model is configured"},
		"unblock, last":    {promptOf(t, stopped(2), nil), "task_resume", `{"task_id":"task_1"}`, completed, "Task task_1 can go on again."},
		"refused":          {promptOf(t, stopped(0), nil), "task_resume", `{"task_id":"task_1"}`, `{"success":false,"error":"it is over"}`, "The tool `task_resume` has refused that: it is over"},
		"still blocked": {promptOf(t, stopped(1), func(s *continuation.Situation) {
			s.Tasks[0].Blocked.LastAskedAt = lastSeen + (50 * time.Minute).Milliseconds()
		}), "", "", "", "Task task_1 is still blocked."},
		"stuck":       {promptOf(t, working("tile", "in_progress"), after(continuation.Care{At: lastSeen, Prompts: 2, Same: 2, StepID: "s1"})), "", "", "", "Task task_1 does not come on."},
		"no progress": {promptOf(t, working("tile"), after(continuation.Care{At: lastSeen, Prompts: 4, Same: 4})), "", "", "", "Task task_1 does not come on."},
		"no answer":   {promptOf(t, stopped(3), nil), "", "", "", "I have been told of task task_1 of eden."},
		"zombie": {promptOf(t, working("지붕 고치기", "in_progress"), func(s *continuation.Situation) {
			s.Policy.ZombieTTL, s.Tasks[0].Backlog.Reassigned = time.Minute, 2
		}), "", "", "", "eden의 작업 task_1에 관한 알림을 받았습니다."},
		"restart, blocked": {promptOf(t, stopped(1), func(s *continuation.Situation) {
			s.RestartedAt = lastSeen + (59 * time.Minute).Milliseconds()
			s.Tasks[0].Blocked.LastAskedAt = s.RestartedAt
		}), "", "", "", "I know of the restart."},
	} {
		r := asks(scripted.Player, c.prompt)
		a := complete(t, r)
		if c.tool != "" {
			if len(a.ToolCalls) != 1 || a.ToolCalls[0].Name != c.tool || string(a.ToolCalls[0].Arguments) != c.arguments {
				t.Errorf("%s: got %+v, want %s %s, of\n%s", name, a, c.tool, c.arguments, c.prompt)
				continue
			}
			answered(r, a, c.result)
			a = complete(t, r)
		}
		if len(a.ToolCalls) > 0 || !strings.Contains(a.Text, c.says) {
			t.Errorf("%s: got %+v, want %q, of\n%s", name, a, c.says, c.prompt)
		}
	}
}

// The last step of a task completes it, in the same run; no call follows, whatever the tools return.
func TestScriptedPlayerEndsTaskWithLastStep(t *testing.T) {
	t.Parallel()
	for _, last := range []string{`{"success":true}`, `{"success":false,"error":"no"}`} {
		r := asks(scripted.Player, promptOf(t, working("tile", "done", "in_progress"), nil))
		a := complete(t, r)
		if !strings.Contains(a.Text, "No model is configured yet") {
			t.Errorf("the first answer is %q, want it to say that no model is configured", a.Text)
		}
		answered(r, a, `{"success":true,"steps":{"total":2,"done":2}}`)
		a = complete(t, r)
		var got struct{ TaskID, Summary string }
		if len(a.ToolCalls) != 1 || a.ToolCalls[0].Name != "task_complete" || !strings.HasPrefix(a.Text, "Step s2 is done: part s2") {
			t.Fatalf("got %+v, want the task to be completed", a)
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(a.ToolCalls[0].Arguments), "task_id", "taskID")), &got); err != nil || got.TaskID != "task_1" || got.Summary == "" {
			t.Errorf("%v: %s", err, a.ToolCalls[0].Arguments)
		}
		answered(r, a, last)
		if a = complete(t, r); len(a.ToolCalls) != 0 || a.Text == "" {
			t.Errorf("got %+v, want a sentence", a)
		}
	}
	later := asks(scripted.Player, "hello")
	later.Messages = append(later.Messages, llm.Message{Role: llm.Assistant, Text: "x"}, llm.Message{Role: llm.User, Text: promptOf(t, working("tile", "in_progress"), nil)})
	if a := complete(t, later); len(a.ToolCalls) != 1 || a.Text != "" {
		t.Errorf("got %+v, want no second notice about the model", a)
	}
}

// As any other model the script changes no task: the first prompt fails with instructions, and back-off delays the
// next one.
func TestScriptTouchesNoTaskUnlessItIsThePlayer(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Default(), noPause)
	_, err := p.Complete(t.Context(), asks("scripted", promptOf(t, working("tile", "in_progress"), nil)), nil)
	want := llm.Error{Class: llm.Auth, Provider: "scripted", Model: "scripted",
		Message: "no model is configured, so no agent works at tasks; name one at agents.defaults.model in the configuration"}
	if got, is := errors.AsType[*llm.Error](err); !is || *got != want {
		t.Errorf("got %v, want %v", err, &want)
	}
	if got := complete(t, asks("scripted", promptOf(t, stopped(0), nil))); got.ToolCalls != nil || !strings.HasPrefix(got.Text, "I cannot help with task task_1: no model is configured.") {
		t.Errorf("got %+v", got)
	}
	for _, prompt := range []string{promptOf(t, working("tile", "in_progress"), nil), promptOf(t, stopped(0), nil)} {
		r := asks(scripted.Player, prompt)
		r.Tools = nil
		a, err := p.Complete(t.Context(), r, nil)
		if err == nil && a.ToolCalls != nil {
			t.Errorf("calls a tool that is not offered: %+v", a)
		}
	}
}

func TestGroupsHaveNames(t *testing.T) {
	t.Parallel()
	s, err := scripted.Read("x", []byte(`{"rules": [
		{"when": {"after": "tool", "tool": "look", "result": "\"left\":[1-9]"}, "answer": {"text": "{{result.left}} left"}},
		{"when": {"after": "tool", "result": "(?i)nothing"}, "answer": {"text": "over"}},
		{"when": {"after": "any", "matches": "go to (?P<city>\\S+)( by (?P<by>\\w+))?"}, "answer": {"text": "{{city}}{{1}} {{by}}|{{other}}",
			"toolCalls": [{"name": "look", "arguments": {"in {{city}}": ["{{by}}", "{{3}}"]}}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := scripted.New(s, noPause)
	for message, want := range map[string][2]string{
		"go to Seoul by train": {"SeoulSeoul train|{{other}}", `{"in Seoul":["train","train"]}`},
		`go to "x\`:            {`"x\"x\ |{{other}}`, `{"in \"x\\":["",""]}`},
		"go to {{by}} by foot": {"{{by}}{{by}} foot|{{other}}", `{"in {{by}}":["foot","foot"]}`}, // what is put in is not looked at again
	} {
		r := says(message)
		a, err := p.Complete(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, [2]string{a.Text, string(a.ToolCalls[0].Arguments)}); diff != "" {
			t.Errorf("%s: %s", message, diff)
		}
		for result, want := range map[string]string{`{"left":2}`: "2 left", `{"left":0} Nothing`: "over"} {
			after := says(message)
			answered(after, a, result)
			if a, err := p.Complete(t.Context(), after, nil); err != nil || a.Text != want {
				t.Errorf("%s: got %+v, %v, want %s", result, a, err, want)
			}
		}
	}
}

// Filling a message in many times does not grow a text without bound.
func TestWhatIsPutInIsBounded(t *testing.T) {
	t.Parallel()
	s, err := scripted.Read("x", []byte(`{"rules": [{"when": {"matches": "(?s)(.+)"}, "answer": {"text": "`+strings.Repeat("{{1}}", 1_000)+`", "chunk": 1000000,
		"toolCalls": [{"name": "x", "arguments": {"a": "`+strings.Repeat("{{1}}", 1_000)+`"}}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := scripted.New(s, noPause).Complete(t.Context(), says(strings.Repeat("가", 10_000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (1 << 20) / 3; strings.Count(a.Text, "가") != want || len(a.Text) != 3*want {
		t.Errorf("the text has %d bytes, want the first %d characters", len(a.Text), want)
	}
	if c := a.ToolCalls[0]; string(c.Arguments) != "{}" || len(c.Malformed) > 1<<20 {
		t.Errorf("the arguments have %d and %d bytes, want none, for they are cut off", len(c.Arguments), len(c.Malformed))
	}
}
