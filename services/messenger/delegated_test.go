package messenger_test

import (
	"context"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A sub-agent is a delegation of a task for an agent that has the task or works for it. For any other agent, whatever it names or
// inherits, the task is unknown.
func TestOnlyWhoWorksForATaskDelegates(t *testing.T) {
	t.Parallel()
	team := setup(t, withTasks(a2atest.Setting{Asleep: true, Config: `{"agents":{"defaults":{"subagents":{"maxChildrenPerAgent":20,"maxSpawnDepth":5}},
		"list":[{"id":"eden","default":true,"subagents":{"allowAgents":["seum"]}},{"id":"seum"},{"id":"dajim"}]}}`}))
	beginTask(team, t, "eden", "t1", "ws_1")
	spawn := func(from tool.Caller, taskID, agent string) messenger.SpawnResult {
		t.Helper()
		got, err := team.Spawn(context.Background(), messenger.SpawnRequest{From: from, Task: "look", TaskID: taskID, Agent: agent})
		if err != nil || got.Status != "accepted" {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	// asked is an agent in the run in which it answers a message about the task.
	asked := func(by, agent string) tool.Caller {
		sent := team.MustSend(by, agent, "hello from "+by, func(r *messenger.Request) { r.TaskID = "t1" })
		return in(agent, coordination.MainKey(agent).String(), team.Flow(sent.JobID).RunID)
	}
	own := spawn(a2atest.Caller("eden"), "", "seum")
	foreign := spawn(a2atest.Caller("seum"), "t1", "")
	for name, c := range map[string]struct {
		from    tool.Caller
		taskID  string
		through bool
	}{
		"its own":                             {a2atest.Caller("eden"), "t1", true},
		"its sub-agent":                       {in("seum", own.ChildSessionKey, own.RunID), "", true},
		"its sub-agent, in another run":       {in("seum", own.ChildSessionKey, ""), "t1", true},
		"who is asked by its owner":           {asked("eden", "seum"), "", true},
		"another agent":                       {a2atest.Caller("seum"), "t1", false},
		"another agent that claims otherwise": {in("seum", coordination.MainKey("seum").String(), ""), "", false},
		"another agent's sub-agent":           {in("seum", foreign.ChildSessionKey, foreign.RunID), "", false},
		"asked by another agent":              {asked("dajim", "seum"), "", false},
		"task without an owner":               {a2atest.Caller("seum"), "t2", false},
	} {
		before := len(team.Events(coordination.TypeDelegationSpawned))
		got := spawn(c.from, c.taskID, "")
		told := len(team.Events(coordination.TypeDelegationSpawned)) - before
		if delegated := got.DelegationID != ""; delegated != c.through || (told == 1) != c.through || delegated && got.DelegationID != got.JobID {
			t.Errorf("%s: %+v, %d told", name, got, told)
		}
	}
	if foreign.DelegationID != "" {
		t.Errorf("%+v", foreign)
	}
}

// in is an agent in a run of a session that has inherited task t1.
func in(agent, key, runID string) tool.Caller {
	c := a2atest.Caller(agent)
	c.Entry, c.SessionKey, c.RunID, c.WorkSessionID, c.TaskID = tool.ByRun, key, runID, "ws_1", "t1"
	return c
}
