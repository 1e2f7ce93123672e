package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A run that waits for an answer gets it as the result of its tool. If it does not come in time, the result says how far the message has come,
// and the exchange goes on to its end without the run.
func TestRunsWaitForAnswers(t *testing.T) {
	t.Parallel()
	late := make(gate)
	told := make(chan messenger.Result, 2) // eden's run, which asks one after the other
	var asked atomic.Int64                 // after dajim's run began
	team := startTeam(t, []string{"eden", "seum", "dajim"}, func(a a2atest.Asked) a2atest.Answer {
		ask := func(agent string, seconds int) a2atest.Answer {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": agent, "message": "what do you know?", "timeoutSeconds": seconds, "replyBack": false}))
		}
		switch {
		case a.Agent == "seum":
			return a2atest.Say("I know nothing")
		case a.Agent == "dajim":
			asked.Store(time.Now().UnixMilli())
			late.pass(a.Context)
			return a2atest.Say("I know all of it")
		case !a.AfterTool():
			return ask("seum", 600)
		}
		var one messenger.Result
		if err := json.Unmarshal([]byte(a.Last().Text), &one); err != nil {
			return a2atest.Say(err.Error())
		}
		if told <- one; len(told) == 1 {
			return ask("dajim", 1)
		}
		late.open()
		return a2atest.Say("that is all")
	})
	if said := team.tell(t, "eden", "ask", "ask them"); said != "that is all" {
		t.Fatalf("eden says %q", said)
	}
	seum, dajim := <-told, <-told
	if seum.Status != "ok" || seum.Reply != "I know nothing" || seum.Delivery.Status != "delivered" {
		t.Errorf("of seum it is told %+v", seum)
	}
	if dajim.Status != "timeout" || dajim.Reply != "" || dajim.Delivery == nil || dajim.Delivery.Status != "delivered" ||
		dajim.JobID == "" || dajim.RunID != dajim.JobID || dajim.ConversationID == "" || dajim.WorkSessionID != seum.WorkSessionID {
		t.Errorf("of dajim it is told %+v", dajim)
	}
	want := []string{"job.created", "send", "response", "complete", "job.completed"}
	for _, one := range []messenger.Result{seum, dajim} {
		if types := team.ended(t, one.JobID); !slices.Equal(types, want) {
			t.Errorf("with %s it went so: %v", one.SessionKey, types)
		}
	}
	inTime := asked.Load() < team.sentBy(t, dajim.JobID).TS+1_000 // else the machine is too slow to tell
	if inTime && dajim.State != "running" || !slices.Contains([]string{"running", "queued"}, dajim.State) {
		t.Errorf("dajim's run is %s", dajim.State)
	}
	flow := read[struct{ Job monitor.FlowAnswer }](t, team.reloading, "/api/a2a/jobs/"+dajim.JobID).Job
	if flow.Outcome != "ok" || len(flow.Said) != 1 || flow.Said[0].Text != "I know all of it" {
		t.Errorf("the flow: %+v", flow)
	}
}

// httpSays posts a call of a tool, and decodes what the tool says.
func httpSays[T any](t *testing.T, team *liveTeam, key, body string) (said T) {
	t.Helper()
	status, text := told(t, "http://"+team.gatewayAddress().String()+"/tools/invoke", body, "Idempotency-Key", key)
	var answer struct {
		OK     bool
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || len(answer.Result.Content) != 1 {
		t.Fatalf("%d %s", status, text)
	}
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &said); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return said
}

// A request of clients with one key is done once, also over another interface and after a restart before the answer: they get what the
// first one got. With another message the key is refused.
func TestClientsThatAskAgain(t *testing.T) {
	t.Parallel()
	late := make(gate)
	team := startTeam(t, []string{"eden", "seum"}, func(a a2atest.Asked) a2atest.Answer {
		if strings.Contains(a.Message(), "slowly") {
			late.pass(a.Context)
		}
		return a2atest.Say("port 18789")
	})
	slow := map[string]any{"name": "sessions_send", "agentId": "eden", "idempotencyKey": "key-3", "args": map[string]any{
		"agentId": "seum", "message": "say it slowly", "replyBack": false, "timeoutSeconds": 0}}
	args := map[string]any{"agentId": "seum", "message": "which port is it?", "replyBack": false}
	body, err := json.Marshal(map[string]any{"tool": "sessions_send", "sessionKey": "agent:eden:main", "args": args})
	if err != nil {
		t.Fatal(err)
	}
	overHTTP := func() sent { return httpSays[sent](t, team, "key-1", string(body)) }
	overWire := func(key string) sent {
		return invokes[sent](t, team.client, map[string]any{"name": "sessions_send", "agentId": "eden", "idempotencyKey": key, "args": args})
	}
	first := overHTTP()
	if first.Status != "ok" || first.Reply != "port 18789" || first.JobID == "" {
		t.Fatalf("first: %+v", first)
	}
	second := overWire("key-2")
	if second.Status != "ok" || second.JobID == first.JobID {
		t.Fatalf("with another key: %+v", second)
	}
	check := func(when string) {
		t.Helper()
		for how, pair := range map[string][2]sent{"over HTTP": {overHTTP(), first}, "over the wire": {overWire("key-1"), first}, "the other": {overWire("key-2"), second}} {
			got, want := pair[0], pair[1]
			want.Duplicate, got.Duplicate = false, false // which may be reported
			if got != want {
				t.Errorf("%s %s: %+v, at first %+v", when, how, got, want)
			}
		}
	}
	check("asked again")
	third := invokes[sent](t, team.client, slow)
	team.awaits(t, "that seum begins", func(f *fact) bool { return f.Type == coordination.TypeRunStarted && f.RunID == third.RunID })
	team.again(t)
	late.open()
	check("after a restart")
	slow["args"].(map[string]any)["timeoutSeconds"] = 600
	if got := invokes[sent](t, team.client, slow); got.Status != "ok" || got.Reply != "port 18789" || got.JobID != third.JobID || got.RunID != third.RunID {
		t.Errorf("what a restart has broken off: %+v, at first %+v", got, third)
	}
	args["message"] = "which port is it not?"
	answer := calls[struct {
		Output struct{ Content []struct{ Text string } }
	}](t, team.client, "tools.invoke", map[string]any{"name": "sessions_send", "agentId": "eden", "idempotencyKey": "key-1", "args": args})
	if text := fmt.Sprint(answer.Output.Content); !strings.Contains(text, "idempotency_key_reused") {
		t.Errorf("another message: %s", text)
	}
	counts := map[string]int{}
	for _, f := range team.facts(t, "a2a.", coordination.TypeRunQueued) {
		counts[f.Type+" "+f.JobID]++
	}
	for what, n := range map[string]int{"a2a.send " + first.JobID: 1, "a2a.send " + second.JobID: 1, "a2a.send " + third.JobID: 1, "run.queued " + first.JobID: 1,
		"run.queued " + second.JobID: 1, "run.queued " + third.JobID: 2} { // the other one repeats what was broken off
		if counts[what] != n {
			t.Errorf("%d %s, want %d", counts[what], what, n)
		}
	}
	if asked := team.models.Asked(); len(asked) != 4 || asked[2].Key != asked[3].Key {
		t.Errorf("models were asked %d times", len(asked))
	}
}
