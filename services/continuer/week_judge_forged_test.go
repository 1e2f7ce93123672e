package continuer_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
)

// forgedEpoch is when forged logs begin, ms since 1970.
var forgedEpoch = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// forged is a log that was never recorded. Its events have names, so that one of them can be changed.
type forged struct {
	events []eventstore.Event
	names  []string
	at     time.Time
	house  house
}

// fields are the data of a forged event.
type fields map[string]any

func (f *forged) after(d time.Duration) *forged {
	f.at = f.at.Add(d)
	return f
}

func (f *forged) event(name, typ, agent string, data fields) *forged {
	f.insert(len(f.events), name, typ, agent, data)
	return f
}

func (f *forged) insert(i int, name, typ, agent string, data fields) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // of what a test has said
	}
	at := f.at
	if i < len(f.events) {
		at = time.UnixMilli(f.events[i].TS)
	}
	f.events = slices.Insert(f.events, i, eventstore.Event{Type: typ, AgentID: agent, TS: at.UnixMilli(), Data: text})
	f.names = slices.Insert(f.names, i, name)
}

// queued, well and fails are what happens to a run in the main session of an agent.
func (f *forged) queued(id, agent, why string) *forged {
	return f.event(id+" queued", coordination.TypeRunQueued, agent, fields{"runId": id, "sessionKey": mainOf(agent), "cause": why})
}

func (f *forged) well(id, agent string) *forged {
	return f.event(id+" ended", coordination.TypeRunEnded, agent, fields{"runId": id, "sessionKey": mainOf(agent)})
}

func (f *forged) fails(id, agent, class, text string) *forged {
	return f.event(id+" failed", coordination.TypeRunFailed, agent, fields{"runId": id, "sessionKey": mainOf(agent), "errorClass": class, "error": text})
}

// sent is a prompt to go on, with its run.
func (f *forged) sent(id, agent, task, reason string, measured int) *forged {
	f.event(id, coordination.TypeContinuationSent, agent, fields{"runId": id, "taskId": task, "reason": reason, "measured": measured})
	return f.queued(id, agent, "continuation")
}

func (f *forged) reminded(id, agent, task string) *forged {
	f.event(id, coordination.TypeResumeReminderSent, agent, fields{"runId": id, "taskId": task})
	return f.queued(id, agent, "continuation")
}

func (f *forged) asks(id, agent, task, target string, n int) *forged {
	f.event(id, coordination.TypeUnblockRequested, agent, fields{"runId": id, "taskId": task, "targetAgentId": target, "requestCount": n})
	f.event(id+" flow", coordination.TypeA2AJobCreated, agent, fields{"jobId": id, "fromAgent": agent, "toAgent": target, "origin": "unblock"})
	session := fields{"runId": id, "sessionKey": "agent:" + target + ":a2a:1", "cause": "a2a"}
	return f.event(id+" queued", coordination.TypeRunQueued, target, session).event(id+" ended", coordination.TypeRunEnded, target, session)
}

func (f *forged) task(name, typ, agent, task string, data ...fields) *forged {
	all := fields{"taskId": task}
	for _, d := range data {
		maps.Copy(all, d)
	}
	return f.event(name, typ, agent, all)
}

// goodDays is a log that breaks nothing, in which there is something of everything.
func goodDays() *forged {
	f := &forged{at: forgedEpoch, house: house{policy: continuation.DefaultPolicy(), lead: "ruda", slack: 30 * time.Minute,
		barred: func(_, target string) bool { return target == "ghost" }}}
	f.task("", coordination.TypeTaskStarted, "eden", "t1")
	f.after(3*time.Minute).sent("idle", "eden", "t1", "idle", 0)
	f.after(time.Minute).well("idle", "eden")
	f.sent("driven", "eden", "t1", "self_driving", 1)
	f.after(time.Minute).fails("driven", "eden", "rate_limited", "retry after 600s")
	f.event("backoff", coordination.TypeContinuationBackoff, "eden", fields{"runId": "driven", "reason": "rate_limit", "backoffMs": 600_000,
		"backoffUntilMs": f.at.Add(10 * time.Minute).UnixMilli(), "consecutiveFailures": 1})
	f.after(10*time.Minute).sent("again", "eden", "t1", "idle", 1)
	f.after(time.Minute).well("again", "eden")
	f.task("done", coordination.TypeTaskCompleted, "eden", "t1")

	f.task("", coordination.TypeTaskStarted, "seum", "t2")
	f.task("block", coordination.TypeTaskBlocked, "seum", "t2", fields{"unblockedBy": []string{"eden", "ghost", "dajim"}})
	f.after(3*time.Minute).asks("ask1", "seum", "t2", "eden", 1)
	f.after(3*time.Minute).reminded("remind", "seum", "t2")
	f.after(time.Minute).well("remind", "seum")
	f.after(26*time.Minute).asks("ask2", "seum", "t2", "dajim", 2)
	f.after(30*time.Minute).asks("ask3", "seum", "t2", "eden", 3)
	f.after(30*time.Minute).task("told", coordination.TypeUnblockFailed, "seum", "t2",
		fields{"runId": "lead", "toldAgentId": "ruda", "reason": "no_answer"})
	f.queued("lead", "ruda", "continuation").well("lead", "ruda")

	f.task("wait", coordination.TypeTaskStarted, "nara", "t3", fields{"requiresApproval": true})
	f.task("add", coordination.TypeTaskBacklogAdded, "nara", "t4", fields{"assignee": "nara", "startDate": "2026-03-03"})
	f.after(time.Hour).task("approve", coordination.TypeTaskApproved, "nara", "t3")
	f.after(3*time.Minute).sent("approved", "nara", "t3", "idle", 0).well("approved", "nara")
	f.task("", coordination.TypeTaskCompleted, "nara", "t3")
	f.at = time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	f.task("pick", coordination.TypeBacklogAutoPicked, "nara", "t4").sent("picked", "nara", "t4", "backlog", 0).well("picked", "nara")
	f.house.restarts = []int64{f.after(time.Minute).at.UnixMilli()}
	f.sent("restart", "nara", "t4", "restart", 0).well("restart", "nara")
	f.task("ended", coordination.TypeTaskStarted, "haneul", "t9").task("cancel", coordination.TypeTaskCancelled, "haneul", "t9")
	f.task("vain", coordination.TypeTaskBacklogAdded, "haneul", "t10", fields{"assignee": "haneul", "dependsOn": []string{"t9"}})
	f.after(3*time.Minute).task("never", coordination.TypeUnblockFailed, "haneul", "t10",
		fields{"runId": "gone", "toldAgentId": "ruda", "reason": "dependency_gone", "dependency": "t9"})
	f.queued("gone", "ruda", "continuation").well("gone", "ruda")
	for i, action := range []string{coordination.ZombieMovedToBacklog, coordination.ZombieMovedToBacklog, coordination.ZombieEscalated} {
		told := fields{"action": action, "reassignCount": i + 1}
		if action == coordination.ZombieEscalated {
			told["toldAgentId"], told["runId"] = "ruda", "zombie"
		}
		f.after(24*time.Hour+time.Second).task("taken"+string(rune('1'+i)), coordination.TypeZombieAbandoned, "nara", "t4", told)
		if action == coordination.ZombieMovedToBacklog {
			id := "picked" + string(rune('1'+i))
			f.task("", coordination.TypeBacklogAutoPicked, "nara", "t4").sent(id, "nara", "t4", "backlog", 0).well(id, "nara")
		}
	}
	return f.queued("zombie", "ruda", "continuation").well("zombie", "ruda").after(time.Hour)
}

func (f *forged) index(name string) int {
	i := slices.Index(f.names, name)
	if i < 0 {
		panic("there is no event " + name)
	}
	return i
}

func (f *forged) drop(names ...string) {
	for _, name := range names {
		i := f.index(name)
		f.events, f.names = slices.Delete(f.events, i, i+1), slices.Delete(f.names, i, i+1)
	}
}

// shift moves an event, and all that follow at the same time, in time.
func (f *forged) shift(name string, d time.Duration) {
	i := f.index(name)
	for at := f.events[i].TS; i < len(f.events) && f.events[i].TS == at; i++ {
		f.events[i].TS += d.Milliseconds()
	}
}

// say changes what an event says.
func (f *forged) say(name, field string, value any) {
	i := f.index(name)
	data := fields{}
	if err := json.Unmarshal(f.events[i].Data, &data); err != nil {
		panic(err)
	}
	data[field] = value
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	f.events[i].Data = text
}

// put has events happen right before one.
func (f *forged) put(before string, more func(*forged)) {
	i := f.index(before)
	other := &forged{at: time.UnixMilli(f.events[i].TS)}
	more(other)
	f.events, f.names = slices.Insert(f.events, i, other.events...), slices.Insert(f.names, i, other.names...)
}

func (f *forged) judged() []string {
	for i := range f.events {
		f.events[i].Seq = int64(i + 1)
	}
	broken, _ := f.house.judged(f.events, f.at.UnixMilli(), true)
	return broken
}

// The judge finds nothing in a log that is as it should be, and each rule that a forged one breaks.
func TestWeekJudge(t *testing.T) {
	t.Parallel()
	if broken := goodDays().judged(); len(broken) > 0 {
		t.Fatalf("a log that is as it should be:\n%s", strings.Join(broken, "\n"))
	}
	tested := map[string]bool{}
	for name, c := range forgeries() {
		tested[c.rule] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := goodDays()
			c.forge(f)
			broken := f.judged()
			if !slices.ContainsFunc(broken, func(b string) bool { return strings.HasPrefix(b, c.rule+": ") }) {
				t.Errorf("want %s, got:\n%s", c.rule, strings.Join(broken, "\n"))
			}
		})
	}
	for _, rule := range []string{
		runTwice, runWithoutCause, causeWithoutRun, causeTwice, wrongSession, wrongState, whileBusy, whileBackoff, whileApproval, tooSoon,
		tooManyPrompts, restartTwice, backoffUnreported, backoffValue, askTooOften, askTooSoon, askOutOfTurn, askBarred, askAfterTold, toldTwice, toldEarly,
		toldNoOne, zombieFresh, zombieCount, pickTooEarly, forgotten,
	} {
		if !tested[rule] {
			t.Errorf("no forged log breaks %s", rule)
		}
	}
}

type forgery struct {
	rule  string
	forge func(*forged)
}

func forgeries() map[string]forgery {
	all := map[string]forgery{}
	for _, some := range []map[string]forgery{forgedPrompts(), forgedPauses(), forgedBlocked(), forgedLeft()} {
		maps.Copy(all, some)
	}
	return all
}

// forgedPrompts are logs in which prompts and their runs do not belong together.
func forgedPrompts() map[string]forgery {
	return map[string]forgery{
		"a run is queued twice":       {runTwice, func(f *forged) { f.put("idle ended", func(f *forged) { f.queued("idle", "eden", "continuation") }) }},
		"a run ends twice":            {runTwice, func(f *forged) { f.put("driven", func(f *forged) { f.well("idle", "eden") }) }},
		"a run ends that never was":   {runTwice, func(f *forged) { f.put("driven", func(f *forged) { f.well("stranger's", "eden") }) }},
		"a flow begins twice":         {runTwice, func(f *forged) { f.put("remind", func(f *forged) { again(f, "ask1") }) }},
		"a prompt without an event":   {runWithoutCause, func(f *forged) { f.drop("again") }},
		"a request without an event":  {runWithoutCause, func(f *forged) { f.drop("ask2") }},
		"a reminder without an event": {runWithoutCause, func(f *forged) { f.drop("remind") }},
		"a lead's run without event":  {runWithoutCause, func(f *forged) { f.drop("told") }},
		"an event without its run":    {causeWithoutRun, func(f *forged) { f.drop("idle queued", "idle ended") }},
		"a request without its flow":  {causeWithoutRun, func(f *forged) { f.drop("ask3 flow") }},
		"a lead that was not told":    {causeWithoutRun, func(f *forged) { f.drop("zombie queued", "zombie ended") }},
		"an event that names no run":  {causeWithoutRun, func(f *forged) { f.say("again", "runId", "") }},
		"a flow that is a run": {causeWithoutRun, func(f *forged) {
			f.put("remind", func(f *forged) { f.queued("ask1", "eden", "continuation") })
		}},
		"a run that is a flow": {causeWithoutRun, func(f *forged) { f.put("idle ended", func(f *forged) { again(f, "idle") }) }},
		"two events of one run": {causeTwice, func(f *forged) {
			f.put("idle ended", func(f *forged) {
				f.event("", coordination.TypeContinuationSent, "eden", fields{"runId": "idle", "taskId": "t1", "reason": "idle"})
			})
		}},
		"a prompt in another session":    {wrongSession, func(f *forged) { f.say("idle queued", "sessionKey", "agent:eden:discord:channel:1") }},
		"the lead's prompt at the owner": {wrongSession, func(f *forged) { f.say("lead queued", "sessionKey", mainOf("seum")) }},
		"a flow to another agent":        {wrongSession, func(f *forged) { f.say("ask1 flow", "toAgent", "dajim") }},
		"about a task that is over": {wrongState, func(f *forged) {
			f.put("again", func(f *forged) { f.task("", coordination.TypeTaskCompleted, "eden", "t1") })
		}},
		"about another agent's task": {wrongState, func(f *forged) { f.say("idle", "taskId", "t2") }},
		"about a task that is picked twice": {wrongState, func(f *forged) {
			f.put("pick", func(f *forged) { f.task("", coordination.TypeTaskBacklogPicked, "nara", "t4") })
		}},
		"a reminder of nothing": {wrongState, func(f *forged) {
			f.put("remind", func(f *forged) { f.task("", coordination.TypeTaskResumed, "seum", "t2") })
		}},
		"a request for nothing": {wrongState, func(f *forged) {
			f.put("ask2", func(f *forged) { f.task("", coordination.TypeTaskResumed, "seum", "t2") })
		}},
		"a started task is started": {wrongState, func(f *forged) {
			f.put("pick", func(f *forged) { f.task("", coordination.TypeTaskStarted, "nara", "t5") })
		}},
	}
}

// again is the flow of a request once more.
func again(f *forged, id string) {
	f.event("", coordination.TypeA2AJobCreated, "seum", fields{"jobId": id, "fromAgent": "seum", "toAgent": "eden", "origin": "unblock"})
}

// forgedPauses are logs in which an agent is not left alone.
func forgedPauses() map[string]forgery {
	return map[string]forgery{
		"while a run is queued": {whileBusy, func(f *forged) { f.put("again", func(f *forged) { f.queued("chat", "eden", "chat") }) }},
		"while another session answers": {whileBusy, func(f *forged) {
			f.put("again", func(f *forged) {
				f.event("", coordination.TypeRunQueued, "eden", fields{"runId": "a2a", "sessionKey": "agent:eden:a2a:1", "cause": "a2a"})
			})
		}},
		"in back-off":             {whileBackoff, func(f *forged) { f.shift("again", -time.Second) }},
		"in the backoff of a run": {whileBackoff, func(f *forged) { f.shift("backoff", time.Second); f.drop("backoff"); f.shift("again", -time.Minute) }},
		"a reminder in back-off": {whileBackoff, func(f *forged) {
			f.put("remind", func(f *forged) {
				f.event("", coordination.TypeContinuationBackoff, "seum", fields{"reason": "timeout", "backoffMs": 60_000, "consecutiveFailures": 1})
			})
		}},
		"while it waits for approval": {whileApproval, func(f *forged) { f.drop("approve") }},
		"picked instead of approved": {whileApproval, func(f *forged) {
			f.put("pick", func(f *forged) {
				f.task("", coordination.TypeTaskStarted, "nara", "t5", fields{"requiresApproval": true})
			})
		}},
		"a moment before it is idle": {tooSoon, func(f *forged) { f.shift("idle", -time.Millisecond) }},
		"at once after a run that failed": {tooSoon, func(f *forged) {
			f.drop("idle ended")
			f.put("driven", func(f *forged) { f.fails("idle", "eden", "", "") })
		}},
		"twice after one run": {tooSoon, func(f *forged) {
			f.put("driven failed", func(f *forged) { f.sent("driven too", "eden", "t1", "self_driving", 1) })
		}},
		"idle within 5 minutes": {tooSoon, func(f *forged) {
			f.drop("idle ended")
			f.put("driven", func(f *forged) {
				f.event("", coordination.TypeRunAborted, "eden", fields{"runId": "idle", "sessionKey": mainOf("eden"), "reason": "restart"})
			})
			f.say("driven", "reason", "idle")
			f.shift("driven", 3*time.Minute+59*time.Second-time.Minute)
		}},
		"picked too soon after a run": {tooSoon, func(f *forged) {
			f.put("pick", func(f *forged) { f.queued("chat", "nara", "chat").well("chat", "nara") })
		}},
		"reminded too soon": {tooSoon, func(f *forged) { f.shift("remind", -time.Second) }},
		"driven for ever":   {tooManyPrompts, func(f *forged) { f.put("done", func(f *forged) { drives(f, 21) }) }},
		"told twice of one restart": {restartTwice, func(f *forged) {
			f.put("taken1", func(f *forged) {
				f.after(-23*time.Hour).sent("restart too", "nara", "t4", "restart", 0).well("restart too", "nara")
			})
		}},
		"no restart reported": {restartTwice, func(f *forged) { f.house.restarts = nil }},
		"restarts within 5 minutes": {restartTwice, func(f *forged) {
			f.house.restarts = append(f.house.restarts, f.house.restarts[0]+ms(4*time.Minute))
			f.put("taken1", func(f *forged) {
				f.after(-23*time.Hour).sent("restart too", "nara", "t4", "restart", 0).well("restart too", "nara")
			})
		}},
		"a failure without a report":   {backoffUnreported, func(f *forged) { f.drop("backoff") }},
		"a back-off of another run":    {backoffUnreported, func(f *forged) { f.say("backoff", "runId", "idle") }},
		"a back-off that is too short": {backoffValue, func(f *forged) { f.say("backoff", "backoffMs", 60_000) }},
		"a failure counted twice":      {backoffValue, func(f *forged) { f.say("backoff", "consecutiveFailures", 2) }},
		"a back-off of a day":          {backoffValue, func(f *forged) { f.say("backoff", "backoffMs", ms(24*time.Hour)) }},
	}
}

// drives tells an agent to go on at once, again and again, without progress.
func drives(f *forged, times int) {
	for i := range times {
		id := "driven" + string(rune('A'+i))
		f.sent(id, "eden", "t1", "self_driving", 1).well(id, "eden")
	}
}

// forgedBlocked are logs in which those who can help are not asked as they should be.
func forgedBlocked() map[string]forgery {
	return map[string]forgery{
		"a fourth request":            {askTooOften, func(f *forged) { f.put("told", func(f *forged) { f.asks("ask4", "seum", "t2", "dajim", 4) }) }},
		"a request that counts wrong": {askTooOften, func(f *forged) { f.say("ask2", "requestCount", 1) }},
		"a request before its time":   {askTooSoon, func(f *forged) { f.shift("ask3", -time.Second) }},
		"asked again at once after it did not arrive": {askTooSoon, func(f *forged) {
			f.put("ask2", func(f *forged) {
				f.task("", coordination.TypeUnblockFailed, "seum", "t2", fields{"targetAgentId": "ghost", "failures": 1})
			})
		}},
		"the same helper twice": {askOutOfTurn, func(f *forged) {
			f.say("ask2", "targetAgentId", "eden")
			f.say("ask2 flow", "toAgent", "eden")
		}},
		"a helper that must not be asked": {askBarred, func(f *forged) {
			f.say("ask2", "targetAgentId", "ghost")
			f.say("ask2 flow", "toAgent", "ghost")
		}},
		"oneself":              {askBarred, func(f *forged) { f.say("ask2", "targetAgentId", "seum"); f.say("ask2 flow", "toAgent", "seum") }},
		"asked after the lead": {askAfterTold, func(f *forged) { f.put("wait", func(f *forged) { f.asks("ask4", "seum", "t2", "dajim", 4) }) }},
		"given up twice": {toldTwice, func(f *forged) {
			f.put("wait", func(f *forged) {
				f.task("", coordination.TypeUnblockFailed, "seum", "t2", fields{"runId": "lead too", "toldAgentId": "ruda"})
				f.queued("lead too", "ruda", "continuation")
			})
		}},
		"given up after two requests": {toldEarly, func(f *forged) { f.drop("ask3", "ask3 flow") }},
		"given up before an answer":   {toldEarly, func(f *forged) { f.shift("told", -time.Second) }},
		"given up without a report":   {toldNoOne, func(f *forged) { f.say("told", "toldAgentId", ""); f.drop("lead queued", "lead ended") }},
		"told twice that it never begins": {toldTwice, func(f *forged) {
			f.put("taken1", func(f *forged) {
				f.task("", coordination.TypeUnblockFailed, "haneul", "t10",
					fields{"runId": "gone too", "toldAgentId": "ruda", "reason": "dependency_gone", "dependency": "t9"})
				f.queued("gone too", "ruda", "continuation").well("gone too", "ruda")
			})
		}},
		"told that what may begin never does": {toldEarly, func(f *forged) { f.drop("cancel") }},
		"told at once that it never begins":   {toldEarly, func(f *forged) { f.shift("never", -time.Second) }},
		"another dependency reported":         {toldEarly, func(f *forged) { f.say("never", "dependency", "t1") }},
		"a started task reported as never starting": {wrongState, func(f *forged) {
			f.put("never", func(f *forged) { f.task("", coordination.TypeTaskBacklogPicked, "haneul", "t10") })
		}},
		"never starts, without a report": {toldNoOne, func(f *forged) { f.say("never", "toldAgentId", ""); f.drop("gone queued", "gone ended") }},
		"given up, and a friend told": {toldNoOne, func(f *forged) {
			f.say("told", "toldAgentId", "dajim")
			f.say("lead queued", "sessionKey", mainOf("dajim"))
		}},
	}
}

// forgedLeft are logs in which something is taken away wrongly, or left lying.
func forgedLeft() map[string]forgery {
	return map[string]forgery{
		"taken away too early":     {zombieFresh, func(f *forged) { f.shift("taken1", -time.Hour) }},
		"taken away for ever":      {zombieCount, func(f *forged) { f.say("taken3", "action", coordination.ZombieMovedToBacklog) }},
		"taken for good at once":   {zombieCount, func(f *forged) { f.say("taken2", "action", coordination.ZombieEscalated) }},
		"taken with another count": {zombieCount, func(f *forged) { f.say("taken2", "reassignCount", 1) }},
		"interrupted in secret":    {toldNoOne, func(f *forged) { f.say("taken3", "toldAgentId", ""); f.drop("zombie queued", "zombie ended") }},
		"started before its day":   {pickTooEarly, func(f *forged) { f.shift("pick", -time.Second) }},
		"started before its dependency": {pickTooEarly, func(f *forged) {
			f.say("add", "dependsOn", []string{"t2"})
		}},
		"a task in progress without a prompt": {forgotten, func(f *forged) { f.drop("done") }},
		"a blocked task without a request": {forgotten, func(f *forged) {
			f.drop("ask2", "ask2 flow", "ask3", "ask3 flow", "told", "lead queued", "lead ended")
		}},
		"a blocked task whose lead is not told": {forgotten, func(f *forged) { f.drop("told", "lead queued", "lead ended") }},
		"a task that is blocked in the end, without a report": {forgotten, func(f *forged) {
			f.house.settled = true
			f.task("", coordination.TypeTaskStarted, "dajim", "t8")
			f.task("", coordination.TypeTaskBlocked, "dajim", "t8", fields{"unblockedBy": []string{"eden"}})
		}},
		"a task in progress that is not taken away": {forgotten, func(f *forged) { f.drop("taken3", "zombie queued", "zombie ended") }},
		"a backlog task that is not started": {forgotten, func(f *forged) {
			f.put("done", func(f *forged) {
				f.task("", coordination.TypeTaskBacklogAdded, "dajim", "t6", fields{"assignee": "dajim"})
			})
		}},
		"a task of the backlog that can never begin": {forgotten, func(f *forged) { f.drop("never", "gone queued", "gone ended") }},
		"one that depends on what is not known": {forgotten, func(f *forged) {
			f.say("vain", "dependsOn", []string{"t0"})
			f.drop("never", "gone queued", "gone ended")
		}},
		"a run that never ends": {forgotten, func(f *forged) {
			f.drop("idle ended", "driven", "driven queued", "driven failed", "backoff", "again", "again queued", "again ended")
		}},
		"a task that is lost from": {forgotten, func(f *forged) {
			f.put("done", func(f *forged) { f.task("", coordination.TypeTaskStarted, "dajim", "t7") })
		}},
	}
}
