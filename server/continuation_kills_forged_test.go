package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// forgedLog is a faultless log, and what models were told of it.
func forgedLog() (log []eventstore.Event, calls map[string][]string) {
	add := func(typ, agent string, data judgedData) {
		text, err := json.Marshal(data)
		if err != nil {
			panic(err) // of what this test has written
		}
		log = append(log, eventstore.Event{Type: typ, AgentID: agent, Data: text, Seq: int64(len(log)) + 1})
	}
	eden, seum, lead := coordination.MainKey("eden").String(), coordination.MainKey("seum").String(), coordination.MainKey("main").String()
	first, second, third := "continuation:eden:0:continue", "continuation:eden:1:restart", "continuation:eden:3:escalate"

	add(coordination.TypeContinuationSent, "eden", judgedData{RunID: first, Reason: "idle"})
	add(coordination.TypeRunQueued, "eden", judgedData{RunID: first, SessionKey: eden, Cause: "continuation", Message: "go on"})
	add(coordination.TypeRunStarted, "eden", judgedData{RunID: first})
	add(coordination.TypeRunAborted, "eden", judgedData{RunID: first})
	add(coordination.TypeContinuationSent, "eden", judgedData{RunID: second, Reason: "restart"})
	add(coordination.TypeRunQueued, "eden", judgedData{RunID: second, SessionKey: eden, Cause: "continuation", Message: "it was restarted"})
	add(coordination.TypeRunStarted, "eden", judgedData{RunID: second})
	add(coordination.TypeRunEnded, "eden", judgedData{RunID: second})
	add(coordination.TypeUnblockRequested, "eden", judgedData{RunID: "flow", TargetAgentID: "seum"})
	add(coordination.TypeA2AJobCreated, "eden", judgedData{JobID: "flow", Origin: "unblock", FromAgent: "eden", ToAgent: "seum"})
	add(coordination.TypeRunQueued, "seum", judgedData{RunID: "flow", JobID: "flow", SessionKey: seum, Cause: "a2a", Message: "help"})
	add(coordination.TypeRunStarted, "seum", judgedData{RunID: "flow"})
	add(coordination.TypeRunAborted, "seum", judgedData{RunID: "flow"})
	add(coordination.TypeRunQueued, "seum", judgedData{RunID: "flow.again", RetryOf: "flow", JobID: "flow", SessionKey: seum,
		Cause: "a2a", Message: "help"})
	add(coordination.TypeRunStarted, "seum", judgedData{RunID: "flow.again"})
	add(coordination.TypeRunEnded, "seum", judgedData{RunID: "flow.again"})
	add(coordination.TypeA2AJobCompleted, "eden", judgedData{JobID: "flow"})
	add(coordination.TypeUnblockFailed, "eden", judgedData{Reason: "no_answer", ToldAgentID: "main", RunID: third})
	add(coordination.TypeRunQueued, "main", judgedData{RunID: third, SessionKey: lead, Cause: "continuation", Message: "no one helps"})
	add(coordination.TypeRunStarted, "main", judgedData{RunID: third})
	add(coordination.TypeRunEnded, "main", judgedData{RunID: third})
	return log, map[string][]string{first + ":1": {"go on"}, second + ":1": {"it was restarted"}, second + ":2": {"it was restarted"},
		"flow:1": {"help", "help"}, third + ":1": {"no one helps"}}
}

// rulesBroken are those that a log breaks.
func rulesBroken(t *testing.T, log []eventstore.Event, calls map[string][]string, over bool) (rules []string) {
	t.Helper()
	j := newPromptJudge()
	j.life++
	if err := j.read(log); err != nil {
		t.Fatal(err)
	}
	j.check(over)
	j.heard(calls)
	for _, broken := range j.broken {
		rule, _, _ := strings.Cut(broken, " ")
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// The judge of the kill tests finds each kind of fault, and none in a faultless log.
func TestJudgeOfPromptsFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	log, calls := forgedLog()
	if broken := rulesBroken(t, log, calls, true); len(broken) > 0 {
		t.Fatalf("a log in which nothing is wrong breaks %q", broken)
	}
	if broken := rulesBroken(t, log[:7], map[string][]string{}, false); len(broken) > 0 {
		t.Errorf("a log that goes on breaks %q", broken)
	}
	at := func(typ, id string) int {
		i := slices.IndexFunc(log, func(e eventstore.Event) bool {
			return e.Type == typ && strings.Contains(string(e.Data), `"`+id+`"`)
		})
		if i < 0 {
			t.Fatalf("there is no %s of %s", typ, id)
		}
		return i
	}
	without := func(typ, id string) []eventstore.Event {
		return slices.Delete(slices.Clone(log), at(typ, id), at(typ, id)+1)
	}
	twice := func(typ, id string) []eventstore.Event {
		i := at(typ, id)
		return slices.Insert(slices.Clone(log), i, log[i])
	}
	altered := func(typ, id, old, with string) []eventstore.Event {
		forged, i := slices.Clone(log), at(typ, id)
		forged[i].Data = json.RawMessage(strings.Replace(string(log[i].Data), old, with, 1))
		if string(forged[i].Data) == string(log[i].Data) {
			t.Fatalf("there is no %s in %s", old, log[i].Data)
		}
		return forged
	}
	told := func(key string, texts ...string) map[string][]string {
		return map[string][]string{key: texts}
	}
	first, second, third := "continuation:eden:0:continue", "continuation:eden:1:restart", "continuation:eden:3:escalate"
	for _, c := range []struct {
		what  string
		log   []eventstore.Event
		calls map[string][]string
		rule  string
	}{
		{"a prompt without its run", without(coordination.TypeRunQueued, first), nil, causeWithoutRun},
		{"a prompt that names none", altered(coordination.TypeContinuationSent, first, first, ""), nil, causeWithoutRun},
		{"a lead that is told by no run", altered(coordination.TypeUnblockFailed, third, third, ""), nil, causeWithoutRun},
		{"a run without its prompt", without(coordination.TypeContinuationSent, first), nil, runWithoutCause},
		{"a prompt reported twice", twice(coordination.TypeContinuationSent, first), nil, causeTwice},
		{"a run asked for twice", twice(coordination.TypeRunQueued, first), nil, runTwice},
		{"a run that begins twice", twice(coordination.TypeRunStarted, second), nil, runTwice},
		{"a run that ends twice", twice(coordination.TypeRunEnded, second), nil, runTwice},
		{"a run without end", without(coordination.TypeRunEnded, third), nil, runNotOver},
		{"a request without its flow", without(coordination.TypeA2AJobCreated, "flow"), nil, causeWithoutRun},
		{"a request to another agent", altered(coordination.TypeUnblockRequested, "flow", "seum", "main"), nil, causeWithoutRun},
		{"a flow without its request", without(coordination.TypeUnblockRequested, "flow"), nil, runWithoutCause},
		{"a flow that begins twice", twice(coordination.TypeA2AJobCreated, "flow"), nil, flowTwice},
		{"a flow that ends twice", twice(coordination.TypeA2AJobCompleted, "flow"), nil, flowTwice},
		{"a flow without end", without(coordination.TypeA2AJobCompleted, "flow"), nil, flowNotOver},
		{"a prompt to who is at work", without(coordination.TypeRunAborted, first), nil, promptWhileBusy},
		{"two decisions of one number", altered(coordination.TypeContinuationSent, second, ":1:", ":0:"), nil, decidedTwice},
		{"a prompt in the session of another", altered(coordination.TypeRunQueued, third, "agent:main", "agent:eden"), nil, wrongSession},
		{"a restart reported twice", altered(coordination.TypeContinuationSent, first, "idle", "restart"), nil, restartTwice},
		{"a question for no run", log, told("continuation:eden:9:continue:1", "go on"), askedUnknown},
		{"another question", log, told(first+":1", "do something else"), askedUnknown},
		{"a question that is asked again", log, told(first+":1", "go on", "go on"), askedTwice},
	} {
		if broken := rulesBroken(t, c.log, c.calls, true); !slices.Contains(broken, c.rule) {
			t.Errorf("%s breaks %q, want %s among them", c.what, broken, c.rule)
		}
	}
}
