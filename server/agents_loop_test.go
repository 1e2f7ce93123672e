package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// loopConfig has all agents be leads, who approve what others plan, and limits that are reached soon.
var loopConfig = strings.NewReplacer(
	`a2aConcurrency: {`, `a2aLoopGuard: { maxHops: 8, maxPerPair: 10, maxPerCause: 14 }, a2aConcurrency: {`,
	`subagents: { allowAgents: ["*"] }`, `role: "lead", subagents: { allowAgents: ["*"] }`)

// looping describes how agents cause each other to act without end.
type looping struct {
	agents []string
	begins []string // the agents to whom a person says something first
	answer func(a2atest.Asked) a2atest.Answer
	code   []string // of what cuts the loop: one of them
	most   int      // calls of models at which it is taken to be without end
}

var listedIDs = map[string]*regexp.Regexp{
	"task": regexp.MustCompile(`"taskId":"(task_[0-9a-f]+)","agentId":"([a-z]+)"`),
	"plan": regexp.MustCompile(`"planId":"(plan_[0-9a-f]+)","agentId":"([a-z]+)"`),
}

// idsOfOthers are the ids in what a tool has listed that belong to other agents.
func idsOfOthers(kind string, a *a2atest.Asked) (ids []string) {
	for _, m := range listedIDs[kind].FindAllStringSubmatch(a.Last().Text, -1) {
		if m[2] != a.Agent {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// inSteps answers a message by calls of tools, one after the other, of which the last one ends the run; a step without calls is left out.
func inSteps(a *a2atest.Asked, all ...func() []a2atest.Call) a2atest.Answer {
	done := 0
	for _, m := range a.Messages {
		if m.Role == "user" {
			done = 0
		}
		done += min(m.Calls, 1)
	}
	if done < len(all) {
		if calls := all[done](); len(calls) > 0 {
			return a2atest.Use(calls...)
		}
	}
	return a2atest.Say("on it")
}

func calling(name string, args map[string]any) func() []a2atest.Call {
	return func() []a2atest.Call { return []a2atest.Call{{Name: name, Args: args}} }
}

// Loops end whatever ids agents use: the chain of causes is bounded, and people are told. Each of these went on without end before.
//
// Promise: loops
func TestLoopsOfAgentsEnd(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	next := map[string]string{"ruda": "eden", "eden": "seum", "seum": "ruda"}
	for name, l := range map[string]looping{
		"messages, each in a work session of its own": {agents: []string{"ruda", "eden", "seum"}, begins: []string{"ruda"}, most: 200,
			code: []string{chain.CodeCause, chain.CodePair, chain.CodeHops},
			answer: func(a a2atest.Asked) a2atest.Answer {
				return inSteps(&a, func() (calls []a2atest.Call) {
					for range 2 {
						calls = append(calls, a2atest.Send(map[string]any{"agentId": next[a.Agent], "message": fmt.Sprintf("please look at %d", n.Add(1)),
							"timeoutSeconds": 0, "workSessionId": "ws_" + uuid.NewString(), "conversationId": uuid.NewString(), "hop": 0, "depth": 0}))
					}
					return calls
				})
			}},
		"tasks that are approved": {agents: []string{"ruda", "eden"}, begins: []string{"ruda", "eden", "ruda"}, most: 200,
			code: []string{chain.CodeHops, chain.CodePair},
			answer: func(a a2atest.Asked) a2atest.Answer {
				return inSteps(&a,
					calling("task_start", map[string]any{"description": fmt.Sprintf("paint wall %d", n.Add(1)), "requires_approval": true, "simple": true}),
					calling("task_list", map[string]any{"scope": "all", "status": "pending_approval"}),
					func() (calls []a2atest.Call) {
						for _, id := range idsOfOthers("task", &a) {
							calls = append(calls, a2atest.Call{Name: "task_approve", Args: map[string]any{"task_id": id}})
						}
						return calls
					})
			}},
		"plans": {agents: []string{"ruda", "eden"}, begins: []string{"ruda", "eden", "ruda"}, most: 200,
			code: []string{chain.CodeHops, chain.CodePair},
			answer: func(a a2atest.Asked) a2atest.Answer {
				return inSteps(&a,
					calling("task_start", map[string]any{"description": fmt.Sprintf("paint wall %d", n.Add(1)), "simple": true}),
					calling("plan_submit", map[string]any{"title": "paint", "steps": []string{"paint"}}),
					calling("plan_status", map[string]any{"status": "pending"}),
					func() (calls []a2atest.Call) {
						for _, id := range idsOfOthers("plan", &a) {
							calls = append(calls, a2atest.Call{Name: "plan_approve", Args: map[string]any{"plan_id": id}})
						}
						return calls
					})
			}},
		"sub-agents": {agents: []string{"ruda"}, begins: []string{"ruda"}, most: 200, code: []string{chain.CodeHops, chain.CodePair, chain.CodeCause},
			answer: func(a a2atest.Asked) a2atest.Answer {
				if strings.Contains(a.Message(), "paint wall") && !strings.Contains(a.Message(), "subagent") {
					return a2atest.Say("painted")
				}
				return inSteps(&a, func() (calls []a2atest.Call) {
					for range 2 {
						calls = append(calls, a2atest.Call{Name: "sessions_spawn", Args: map[string]any{"task": fmt.Sprintf("paint wall %d", n.Add(1)),
							"workSessionId": "ws_" + uuid.NewString()}})
					}
					return calls
				})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.ends(t)
		})
	}
}

// ends has the loop begin, and waits for its end.
func (l *looping) ends(t *testing.T) {
	var calls atomic.Int64
	team := startTeamOf(t, loopConfig, l.agents, func(a a2atest.Asked) a2atest.Answer {
		if calls.Add(1) > int64(l.most) {
			return a2atest.Say("that is enough") // so that the test comes to an end, too
		}
		return l.answer(a)
	})
	for i, agent := range l.begins {
		team.tell(t, agent, fmt.Sprint("begin-", i), "go")
	}
	team.settles(t)
	if calls.Load() > int64(l.most) {
		t.Fatalf("models were asked %d times and more", l.most)
	}
	var codes []string
	for _, f := range team.facts(t, coordination.TypeA2AForbidden) {
		codes = append(codes, f.Code)
		if !slices.Contains(l.code, f.Code) || f.RootRunID == "" && f.ParentRunID == "" {
			t.Errorf("it is cut by %+v", f)
		}
	}
	if len(codes) == 0 {
		t.Errorf("nothing tells that it was cut, after %d calls of models", calls.Load())
	}
	for _, f := range team.facts(t, coordination.TypeRunQueued) {
		if f.RootRunID != "" && !strings.HasPrefix(f.RootRunID, "begin-") {
			t.Errorf("run %s is said to begin with %s", f.RunID, f.RootRunID)
		}
		if f.Hop > 8 {
			t.Errorf("run %s is %d hops away", f.RunID, f.Hop)
		}
	}
	t.Logf("%d calls of models, %d refusals", calls.Load(), len(codes))
	team.tell(t, l.begins[0], "and-then", "go") // what a person says next is heard, and begins again
}

// settles waits until no run and no flow is open.
func (team *liveTeam) settles(t *testing.T) {
	t.Helper()
	for {
		open, last := 0, int64(0)
		for _, f := range team.facts(t) {
			last = f.Seq
			switch f.Type {
			case coordination.TypeRunQueued, coordination.TypeA2AJobCreated:
				open++
			case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut,
				coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
				open--
			}
		}
		if open == 0 {
			return
		}
		if _, err := team.Program.log.Wait(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
}
