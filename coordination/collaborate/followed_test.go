package collaborate_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
)

// What is appended of a request is what its answers are followed by: under the agents' ids, by the bot that has asked.
func TestWhatWasSentIsFollowed(t *testing.T) {
	t.Parallel()
	w := begins(t)
	p := w.decides(collaborate.Request{From: "seum-bot", Target: "default", Message: "look at it"})
	w.takes(p)
	e := p.Sent(coordination.Context{WorkSessionID: "ws_1"}, "r1", "42", []string{"1000000000000000001"}, w.now)
	data, err := json.Marshal(e.Data)
	if err != nil {
		t.Fatal(err)
	}
	var followed response.State
	if means, err := followed.Apply(e.Type, data, w.now+5); !means || err != nil {
		t.Fatalf("%v, %v: the request is not followed", means, err)
	}
	r := followed.Find("r1")
	equal(t, "who asks whom, as which bot, with what", []string{r.FromAgent, r.TargetAgent, r.FromAccount, r.TargetBot, r.Original, r.WorkSessionID},
		[]string{"seum", "ruda", "seum-bot", "11", "look at it", "ws_1"})
	equal(t, "when", r.SentAt, w.now)
	if _, ok := followed.Match(response.Message{ID: "1000000000000000002", ThreadID: "42", AgentID: "ruda", At: w.now}); !ok {
		t.Error("the answer is not recognised")
	}
	if _, ok := followed.Match(response.Message{ID: "1000000000000000001", ThreadID: "42", AgentID: "ruda", At: w.now}); ok {
		t.Error("the request answers itself")
	}
}
