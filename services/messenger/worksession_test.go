package messenger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// The work session of a message is the one that is named, that of the task that is named, that of who sends, else a new one; a run that has
// none begins one for all that it sends.
func TestTheWorkSessionOfAMessage(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	_, err := team.Log.Append(t.Context(), eventstore.StreamAppend{Stream: "task/t1", Events: []eventstore.NewEvent{
		{Type: coordination.TypeTaskStarted, AgentID: "seum", Data: json.RawMessage(`{"taskId":"t1","workSessionId":"ws_task","eventRole":"orchestration.task"}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	in := tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: "agent:eden:main", RunID: team.SayTo("eden", "go")}
	inherited := in
	inherited.WorkSessionID, inherited.TaskID = "ws_own", "t_own"
	send := func(from tool.Caller, ws, task string) (string, string) {
		r := team.MustSend("eden", "seum", "hello", func(r *messenger.Request) { r.From, r.WorkSessionID, r.TaskID = from, ws, task })
		if r.Status != "accepted" || !strings.HasPrefix(r.WorkSessionID, "ws_") {
			t.Errorf("%+v", r)
		}
		return r.WorkSessionID, r.TaskID
	}
	for name, c := range map[string]struct {
		from             tool.Caller
		ws, task         string
		wantWS, wantTask string
	}{
		"named":                        {inherited, "ws_named", "t1", "ws_named", "t1"},
		"named, of another task":       {inherited, "ws_named", "", "ws_named", ""},
		"named as it is":               {inherited, "ws_own", "", "ws_own", "t_own"},
		"of the task":                  {inherited, "", "t1", "ws_task", "t1"},
		"of an unknown task":           {inherited, "", "t2", "ws_own", "t2"},
		"inherited":                    {inherited, "", "", "ws_own", "t_own"},
		"of the task, outside of runs": {a2atest.Caller("eden"), "", "t1", "ws_task", "t1"},
	} {
		if ws, task := send(c.from, c.ws, c.task); ws != c.wantWS || task != c.wantTask {
			t.Errorf("%s: %s, %s; want %s, %s", name, ws, task, c.wantWS, c.wantTask)
		}
	}
	first, _ := send(in, "", "")
	if second, _ := send(in, "", ""); second != first {
		t.Errorf("one run begins %s and %s", first, second)
	}
	if later, _ := send(a2atest.Caller("eden"), "", ""); later != first {
		t.Errorf("the same session goes on with seum in %s, not in %s", later, first)
	}
}

// A session and an agent go on with their conversation over the turns of the user, and with its work session, until that is archived. What is of a
// task, of another session or for another agent is another matter; what one run sends to several is one work session.
func TestConversationsGoOnOverTurns(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	turns := 0
	in := func(session string) func(*messenger.Request) {
		turns++
		run := team.SayTo("eden", fmt.Sprint("turn ", turns))
		return func(r *messenger.Request) {
			r.From = tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: session, RunID: run}
		}
	}
	first := team.MustSend("eden", "seum", "one", in("agent:eden:main"))
	second := team.MustSend("eden", "seum", "two", in("agent:eden:main"))
	if second.WorkSessionID != first.WorkSessionID || second.ConversationID != first.ConversationID {
		t.Errorf("the next turn is in %s, %s, not in %s, %s", second.WorkSessionID, second.ConversationID, first.WorkSessionID, first.ConversationID)
	}
	const elsewhere = "agent:eden:discord:channel:7"
	other := team.MustSend("eden", "seum", "three", in(elsewhere))
	if other.WorkSessionID == first.WorkSessionID {
		t.Error("another session goes on with it")
	}
	if dajim := team.MustSend("eden", "dajim", "four", in(elsewhere)); dajim.WorkSessionID == other.WorkSessionID {
		t.Error("another agent goes on with it")
	}
	one := in("agent:eden:main")
	seum, dajim := team.MustSend("eden", "seum", "five", one), team.MustSend("eden", "dajim", "six", one)
	if seum.WorkSessionID != first.WorkSessionID || dajim.WorkSessionID != first.WorkSessionID {
		t.Errorf("one run sends in %s and %s, not in %s", seum.WorkSessionID, dajim.WorkSessionID, first.WorkSessionID)
	}
	for _, e := range team.Events(coordination.TypeA2ASend) {
		if want := `"routeKey":"agent:eden:`; !strings.Contains(string(e.Data), want) {
			t.Errorf("%s has no %s", e.Data, want)
		}
	}
	team.Wake()
	team.CheckSettled()
	team.Advance(25 * time.Hour)
	if later := team.MustSend("eden", "seum", "seven", in("agent:eden:main")); later.WorkSessionID == first.WorkSessionID {
		t.Error("an archived work session goes on")
	}
	team.CheckSettled()
}

// withTasks is a setting with agents that have tasks.
func withTasks(set a2atest.Setting) a2atest.Setting {
	set.Tables = append(set.Tables, tasks.Definition())
	set.Tasks = delegations.Service{}
	return set
}

// beginTask has an agent begin a task, in that work session if it is not "".
func beginTask(team *a2atest.Team, t *testing.T, agent, taskID, ws string) {
	t.Helper()
	data, err := json.Marshal(coordination.TaskStarted{Priority: "medium", Description: taskID,
		Context: coordination.Context{TaskID: taskID, WorkSessionID: ws, EventRole: coordination.RoleOrchestration}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = team.Log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.TaskStream(taskID), Events: []eventstore.NewEvent{
		{Type: coordination.TypeTaskStarted, AgentID: agent, Actor: eventstore.ActorAgent, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
}

// Who sends or delegates without saying what it belongs to, and inherits nothing, does so for the task that he has in focus.
func TestTheTaskInFocusComesBeforeANewWorkSession(t *testing.T) {
	t.Parallel()
	team := setup(t, withTasks(a2atest.Setting{Asleep: true, Config: `{"agents":{"defaults":{"subagents":{"maxChildrenPerAgent":20}}}}`}))
	beginTask(team, t, "eden", "t_old", "ws_old")
	beginTask(team, t, "eden", "t_focus", "ws_focus")
	beginTask(team, t, "seum", "t1", "ws_task")
	beginTask(team, t, "dajim", strings.Repeat("x", messenger.MaxID+1), "ws_x")
	in := func(agent, ws, task string) tool.Caller {
		c := a2atest.Caller(agent)
		c.Entry, c.RunID, c.WorkSessionID, c.TaskID = tool.ByRun, team.SayTo(agent, "go "+ws+task), ws, task
		return c
	}
	for name, c := range map[string]struct {
		from             tool.Caller
		ws, task         string
		wantWS, wantTask string // of wantWS the beginning
	}{
		"in focus":                            {in("eden", "", ""), "", "", "ws_focus", "t_focus"},
		"in focus, outside of runs":           {a2atest.Caller("eden"), "", "", "ws_focus", "t_focus"},
		"in focus, of another one":            {in("seum", "", ""), "", "", "ws_task", "t1"},
		"in focus, of what is inherited":      {in("eden", "ws_focus", ""), "", "", "ws_focus", "t_focus"},
		"of another task":                     {in("eden", "", ""), "", "t_old", "ws_old", "t_old"},
		"in focus, which can be none":         {in("dajim", "", ""), "", "", "ws_", ""},
		"inherited":                           {in("eden", "ws_own", ""), "", "", "ws_own", ""},
		"inherited, the task alone":           {in("eden", "", "t1"), "", "", "ws_task", "t1"},
		"named":                               {in("eden", "", ""), "ws_named", "", "ws_named", ""},
		"of a task that is named":             {in("eden", "", ""), "", "t1", "ws_task", "t1"},
		"of a task that is named and unknown": {in("seum", "", ""), "", "t2", "ws_", "t2"},
	} {
		sent := team.MustSend("eden", "seum", "hello", func(r *messenger.Request) { r.From, r.WorkSessionID, r.TaskID = c.from, c.ws, c.task })
		started, err := team.Spawn(context.Background(), messenger.SpawnRequest{From: c.from, Task: "look", WorkSessionID: c.ws, TaskID: c.task})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range [][2]string{{sent.WorkSessionID, sent.TaskID}, {started.WorkSessionID, started.TaskID}} {
			if !strings.HasPrefix(got[0], c.wantWS) || c.wantWS == "ws_" && got[0] == "ws_focus" || got[1] != c.wantTask {
				t.Errorf("%s: %v; want %s, %s", name, got, c.wantWS, c.wantTask)
			}
		}
	}
}

// What is refused belongs to the work session that it would have had, unless that were a new one of which there is nothing else.
func TestBug13_RefusalsSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	team := setup(t, withTasks(a2atest.Setting{Asleep: true, Config: `{"tools":{"agentToAgent":{"pairs":[{"from":"*","to":"dajim","allow":false}]}}}`}))
	beginTask(team, t, "seum", "t_focus", "ws_focus")
	in := a2atest.Caller("eden")
	in.Entry, in.RunID = tool.ByRun, team.SayTo("eden", "go")
	sent := team.MustSend("eden", "seum", "hello", func(r *messenger.Request) { r.From = in })
	for name, c := range map[string]struct {
		from             tool.Caller
		ws, want, wantID string
	}{
		"of a run":              {in, "", sent.WorkSessionID, ""},
		"named":                 {in, "ws_named", "ws_named", ""},
		"in focus":              {a2atest.Caller("seum"), "", "ws_focus", "t_focus"},
		"of nothing, a new one": {a2atest.Caller("eden"), "", "", ""},
	} {
		refuse := func(typ, code string, send func() messenger.Result) {
			before := len(team.Events(typ))
			if r := send(); r.Code != code {
				t.Errorf("%s: %+v", name, r)
			}
			told := a2atest.Data[coordination.A2ARefusal](team, typ, "")
			if last := told[len(told)-1]; len(told) != before+1 || last.WorkSessionID != c.want || last.TaskID != c.wantID ||
				last.EventRole != coordination.RoleObservability {
				t.Errorf("%s: %s %+v, want %q, %q", name, typ, last, c.want, c.wantID)
			}
		}
		for to, typ := range map[string]string{"dajim": coordination.TypeA2AForbidden, "stranger": coordination.TypeA2ADispatchFailed} {
			code := map[string]string{"dajim": "policy_denied", "stranger": "unknown_agent"}[to]
			refuse(typ, code, func() messenger.Result {
				return team.MustSend("eden", to, "hello", func(r *messenger.Request) { r.From, r.WorkSessionID = c.from, c.ws })
			})
		}
		refuse(coordination.TypeA2ADispatchFailed, "unknown_session", func() (r messenger.Result) {
			args, err := json.Marshal(map[string]string{"message": "hello", "label": "none", "workSessionId": c.ws})
			if err != nil {
				t.Fatal(err)
			}
			out, err := team.Tools.Call(context.Background(), c.from, "sessions_send", args)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out.Details, &r); err != nil {
				t.Fatal(err)
			}
			return r
		})
	}
}
