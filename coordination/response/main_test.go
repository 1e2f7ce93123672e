package response_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
)

const (
	begin = int64(1_790_000_000_000)
	here  = "900000000000000001"
)

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is the requests of threads, as they follow from what happens.
type world struct {
	t      tester
	policy response.Policy
	state  response.State
	now    int64
	id     int
}

func begins(t tester) *world {
	return &world{t: t, policy: response.Policy{Enabled: true, After: 5 * time.Minute, Steps: 3, Notify: true}, now: begin}
}

func (w *world) after(d time.Duration) *world {
	w.now += d.Milliseconds()
	return w
}

// snowflake is another id of Discord's, later than all before.
func (w *world) snowflake() string {
	w.id++
	return strconv.Itoa(1_000_000_000_000_000_000 + w.id)
}

// happens folds an event as it is stored, and then once more, which must mean nothing.
func (w *world) happens(e response.Event) bool {
	w.t.Helper()
	text, err := json.Marshal(e.Data)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	means, err := w.state.Apply(e.Type, text, w.now)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	before := w.stored()
	if _, retry := e.Data.(response.Notified); retry {
		return means
	}
	if again, err := w.state.Apply(e.Type, text, w.now); again || err != nil || before != w.stored() {
		w.t.Fatalf("%s folded again: %v, %v\n%s\n%s", e.Type, again, err, before, w.stored())
	}
	return means
}

func (w *world) stored() string {
	w.t.Helper()
	text, err := json.Marshal(w.state)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return string(text)
}

// asks posts a request and gives the id of its message.
func (w *world) asks(id, from, target string) string {
	w.t.Helper()
	return w.asksIn(here, id, from, target)
}

func (w *world) asksIn(thread, id, from, target string) string {
	w.t.Helper()
	message := w.snowflake()
	if !w.happens(response.Event{Type: coordination.TypeA2ACollaborateSent, AgentID: from, Data: response.Sent{
		Context: coordination.Context{WorkSessionID: "ws_1"}, RequestID: id, ThreadID: thread, FromAgent: from, FromAccount: from + "-bot",
		TargetAgent: target, TargetBot: "77", MessageIDs: []string{message}, Original: "look at it", Tracked: true}}) {
		w.t.Fatalf("the request %s is not followed", id)
	}
	return message
}

func (w *world) from(agent string) response.Message {
	return response.Message{ID: w.snowflake(), ThreadID: here, AgentID: agent, At: w.now, Text: "here it is"}
}

// hears gives the request that a message answers, "" for none.
func (w *world) hears(m response.Message) string {
	w.t.Helper()
	e, ok := w.state.Match(m)
	if !ok {
		return ""
	}
	if !w.happens(e) {
		w.t.Fatalf("%+v means nothing", e)
	}
	return e.Data.(response.Responded).RequestID
}

// does carries out what is due, and gives it. post says what becomes of it.
func (w *world) does(post func(response.Action) (messageID, code string)) (list []response.Action) {
	w.t.Helper()
	list, _ = w.state.Next(w.policy, w.now)
	for _, a := range list {
		messageID, code := post(a)
		w.happens(w.state.Find(a.RequestID).Done(a, messageID, code))
	}
	return list
}

func (w *world) posted(response.Action) (string, string) { return w.snowflake(), "" }

func (w *world) status(id string) response.Status {
	w.t.Helper()
	r := w.state.Find(id)
	if r == nil {
		w.t.Fatalf("the request %s is forgotten", id)
	}
	return r.Status
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
