package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// fan is how eden has three others work at once.
type fan struct {
	call func(agent string) a2atest.Call
	role coordination.Role // of what they say to each other
	back string            // what comes after the id of a flow in the id of the run in which eden reads its answer
	flow []string          // what stands in the log of each
}

// helpers are those whom eden has work.
var helpers = []string{"seum", "dajim", "ruda"}

func foundBy(helper string) string { return "what " + helper + " has found out about the roof" }

// team serves eden and the helpers, each of whom answers once its gate is open; eden looks at the answer of the last one once its own is.
func (f *fan) team(t *testing.T, gates map[string]gate) *liveTeam {
	t.Helper()
	last := helpers[len(helpers)-1]
	return startTeam(t, append([]string{"eden"}, helpers...), func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent != "eden" && strings.Contains(a.Message(), "once more"):
			gates["once more"].pass(a.Context)
			return a2atest.Say("once more it is done")
		case a.Agent != "eden":
			gates[a.Agent].pass(a.Context)
			return a2atest.Say(foundBy(a.Agent))
		case a.AfterTool():
			return a2atest.Say("three are at it")
		case a.Message() == "begin":
			var calls []a2atest.Call
			for _, helper := range helpers {
				calls = append(calls, f.call(helper))
			}
			return a2atest.Use(calls...)
		case strings.Contains(a.Message(), foundBy(last)):
			gates["eden"].pass(a.Context)
		}
		return a2atest.Say("I have read it and shall think about it until tomorrow")
	})
}

// opens lets an agent answer, and waits until eden has started to read that.
func (f *fan) opens(t *testing.T, team *liveTeam, gates map[string]gate, agent string) (jobID string) {
	t.Helper()
	gates[agent].open()
	jobID = team.awaits(t, "the flow with "+agent, func(is *fact) bool { return is.Type == coordination.TypeA2AJobCreated && is.ToAgent == agent }).JobID
	team.awaits(t, "that eden reads of "+agent, func(is *fact) bool { return is.Type == coordination.TypeRunStarted && is.RunID == jobID+f.back })
	return jobID
}

// has checks how a work session stands.
func (team *liveTeam) has(t *testing.T, when, status string) shownSession {
	t.Helper()
	s := team.session(t)
	if s.Status != status {
		t.Errorf("%s the work session is %s, not %s: %+v", when, s.Status, status, s)
	}
	return s
}

// runs has eden fan out to three, and checks that the work session lives until the last answer is read, revives with a new message, and is
// archived a day later.
func (f *fan) runs(t *testing.T) {
	t.Helper()
	gates := map[string]gate{"eden": make(gate), "once more": make(gate)}
	for _, helper := range helpers {
		gates[helper] = make(gate)
	}
	team := f.team(t, gates)
	if said := team.tell(t, "eden", "fan", "begin"); said != "three are at it" {
		t.Fatalf("eden says %q", said)
	}
	if s := team.has(t, "while three work", "ACTIVE"); s.OpenFlows != 3 {
		t.Errorf("flows: %+v", s)
	}
	var s shownSession
	for i, helper := range helpers {
		jobID, left, status := f.opens(t, team, gates, helper), len(helpers)-1-i, "ACTIVE"
		if left == 0 {
			team.has(t, "while eden reads the last answer", "ACTIVE")
			gates["eden"].open()
			status = "QUIET"
		}
		team.awaitsRun(t, jobID+f.back)
		team.ended(t, jobID)
		if s = team.has(t, "when the answer of "+helper+" is read", status); s.OpenFlows != left {
			t.Errorf("flows: %+v", s)
		}
	}
	f.checks(t, team, s)

	for _, again := range []string{"QUIET", "ARCHIVED"} {
		args := map[string]any{"agentId": "seum", "message": "once more", "timeoutSeconds": 0, "replyBack": false, "workSessionId": s.WorkSessionID}
		sent := invokes[sent](t, team.client, map[string]any{"name": "sessions_send", "agentId": "eden", "args": args})
		if again == "QUIET" { // the other time the gate is open
			team.has(t, "with a new message", "ACTIVE")
			gates["once more"].open()
		}
		team.ended(t, sent.JobID)
		team.has(t, "after that, when it was "+again, "QUIET")
		team.advance(t, 23*time.Hour)
		f.afterHours(t, team)
		team.has(t, "in the course of the day", "QUIET")
		team.advance(t, 2*time.Hour)
		team.has(t, "a day later", "ARCHIVED")
	}
}

// afterHours waits until what happens to sub-agents' sessions in the course of a day has happened.
func (f *fan) afterHours(t *testing.T, team *liveTeam) {
	t.Helper()
	if f.role != coordination.RoleDelegation {
		return
	}
	for _, helper := range helpers {
		team.awaits(t, "the end of the session of "+helper, func(is *fact) bool {
			return is.Type == coordination.TypeSessionDeleted && strings.HasPrefix(is.SessionKey, "agent:"+helper+":subagent:")
		})
	}
}

// checks checks what stands in the log of each flow, and for whom it is, and that eden has read each answer once.
func (f *fan) checks(t *testing.T, team *liveTeam, s shownSession) {
	t.Helper()
	byConversation, of, mine := map[string][]string{}, map[string]string{}, 0
	for _, e := range team.facts(t, "a2a.", "run.") {
		if e.WorkSessionID != "" && e.WorkSessionID != s.WorkSessionID {
			t.Errorf("%s is in work session %s", e.line(), e.WorkSessionID)
		}
		if e.Type == coordination.TypeA2AJobCreated {
			of[e.ConversationID] = e.ToAgent
		}
		if e.EventRole == string(f.role) {
			mine++
		}
		byConversation[e.ConversationID] = append(byConversation[e.ConversationID], e.line())
	}
	both := s.RoleCounts[string(coordination.RoleConversation)] + s.RoleCounts[string(coordination.RoleDelegation)]
	if s.RoleCounts[string(f.role)] != mine || both != mine || len(of) != len(helpers) {
		t.Errorf("roles: %v, the log has %d of %s in %d conversations", s.RoleCounts, mine, f.role, len(of))
	}
	for id, helper := range of {
		var want []string
		for _, line := range f.flow {
			want = append(want, strings.ReplaceAll(line, "HELPER", helper))
		}
		if got := byConversation[id]; !slices.Equal(got, want) {
			t.Errorf("with %s:\n%s\nwant\n%s", helper, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		read := 0
		for _, a := range team.models.Asked() {
			if a.Agent == "eden" && strings.Contains(a.Message(), foundBy(helper)) {
				read++
			}
		}
		if read != 1 {
			t.Errorf("eden reads the answer of %s %d times", helper, read)
		}
	}
}

// eden starts three sub-agents, and is woken by what each has found.
func TestFanOutToSubagents(t *testing.T) {
	t.Parallel()
	f := fan{
		call: func(agent string) a2atest.Call {
			return a2atest.Call{Name: "sessions_spawn", Args: map[string]any{"agentId": agent, "task": "look at the roof"}}
		},
		role: coordination.RoleDelegation, back: ".p",
		flow: []string{
			"a2a.job.created eden: eden>HELPER orchestration.task",
			"a2a.spawn eden: eden>HELPER delegation.subagent",
			"a2a.send eden: eden>HELPER delegation.subagent",
			"a2a.spawn_result eden: eden>HELPER delegation.subagent",
			"run.queued HELPER: eden> system.observability",
			"run.started HELPER: > system.observability",
			"run.ended HELPER: > system.observability",
			"a2a.response HELPER: HELPER>eden turn=1 delegation.subagent",
			"a2a.complete eden: eden>HELPER delegation.subagent",
			"a2a.job.completed eden: eden>HELPER ok orchestration.task",
			"run.queued eden: HELPER> system.observability",
			"run.started eden: > system.observability",
			"run.ended eden: > system.observability",
		},
	}
	f.runs(t)
}

// eden asks three others, and says something to what each answers.
func TestFanOutToOthers(t *testing.T) {
	t.Parallel()
	f := fan{
		call: func(agent string) a2atest.Call {
			return a2atest.Send(map[string]any{"agentId": agent, "message": "Does the roof leak?", "timeoutSeconds": 0})
		},
		role: coordination.RoleConversation, back: ".t1",
		flow: []string{
			"a2a.job.created eden: eden>HELPER orchestration.task",
			"a2a.send eden: eden>HELPER conversation.main",
			"run.queued HELPER: eden> system.observability",
			"run.started HELPER: > system.observability",
			"run.ended HELPER: > system.observability",
			"a2a.response HELPER: HELPER>eden conversation.main",
			"a2a.job.running eden: eden>HELPER turn=1 orchestration.task",
			"run.queued eden: HELPER> system.observability",
			"run.started eden: > system.observability",
			"run.ended eden: > system.observability",
			"a2a.response eden: eden>HELPER turn=1 conversation.main",
			"a2a.complete eden: eden>HELPER conversation.main",
			"a2a.job.completed eden: eden>HELPER turn=1 ok orchestration.task",
		},
	}
	f.runs(t)
}
