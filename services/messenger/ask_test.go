package messenger_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// reason is an event that causes a message.
var reason = eventstore.StreamAppend{Stream: "agent/eden", Events: []eventstore.NewEvent{
	{Type: "test.reason", AgentID: "eden", Data: json.RawMessage(`{"eventRole":"observability"}`)}}}

// ask asks for a message in a transaction that appends a reason of its own first, and gives the events of the message too.
func ask(t testing.TB, team *a2atest.Team, r messenger.Request, now time.Time) (result messenger.Result, types []string) {
	t.Helper()
	_, err := team.Log.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		got, appends, err := team.Ask(tx, r, now)
		result, types = got, nil
		for _, a := range appends {
			for _, e := range a.Events {
				types = append(types, e.Type)
			}
		}
		return append([]eventstore.StreamAppend{reason}, appends...), err
	})
	if err != nil {
		t.Fatalf("ask for %q: %v", r.Message, err)
	}
	return result, types
}

func TestAskIsAppendedWithItsReason(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{})
	at := team.Clock.Now().Add(-time.Second).Truncate(time.Millisecond)
	const secret = "sk-0123456789abcdef0123456789"
	r := team.Message("eden", "seum", "can you help? the key is "+secret, wait, func(r *messenger.Request) {
		r.Key, r.Origin, r.TaskID, r.WorkSessionID = "k", "unblock", "t1", "ws_1"
	})
	got, types := ask(t, team, r, at)
	want := messenger.Result{RunID: got.JobID, JobID: got.JobID, Status: "accepted", SessionKey: "agent:seum:main", ConversationID: got.ConversationID,
		WorkSessionID: "ws_1", TaskID: "t1", Delivery: &messenger.Delivery{Status: "pending"}}
	if diff := cmp.Diff(want, got); diff != "" || got.JobID == "" || got.ConversationID == "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a2a.job.created", "a2a.send", "session.created", "run.queued"}, types); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	all := team.Events("test.reason", "a2a.job.created", "a2a.send", "run.queued")
	for i, e := range all {
		if e.Type == "test.reason" {
			continue
		}
		if e.TS != at.UnixMilli() || strings.Contains(string(e.Data), secret) {
			t.Errorf("%s at %d, want %d, without the secret: %s", e.Type, e.TS, at.UnixMilli(), e.Data)
		}
		if i > 0 && e.Seq > all[0].Seq+4 {
			t.Errorf("%s is not appended with its reason: %d behind %d", e.Type, e.Seq, all[0].Seq)
		}
	}
	created := a2atest.Data[coordination.A2AJobCreated](team, coordination.TypeA2AJobCreated, got.JobID)
	if len(created) != 1 || created[0].Origin != "unblock" || created[0].WaitMs != 300_000 {
		t.Errorf("%+v", created)
	}
	if row := team.Over(got.JobID); row.Outcome != "ok" {
		t.Errorf("%+v", row)
	}
	team.CheckSettled()
}

// A reason that is not stored sends nothing.
func TestAskOfATransactionThatFailsSendsNothing(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{})
	failed := errors.New("not now")
	r := team.Message("eden", "seum", "hello", func(r *messenger.Request) { r.Key = "k" })
	_, err := team.Log.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		_, appends, err := team.Ask(tx, r, team.Clock.Now())
		if err != nil || len(appends) == 0 {
			t.Errorf("%v, %v", appends, err)
		}
		return nil, failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if n := len(team.Flows()); n != 0 {
		t.Errorf("%d flows", n)
	}
	if again, _ := ask(t, team, r, team.Clock.Now()); again.Duplicate || again.Status != "accepted" {
		t.Errorf("%+v", again)
	}
	team.CheckSettled()
}

// What came of a message that was asked for before is told as Send tells it, wherever its flow is, and nothing is appended.
func TestAskOnce(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: limited(1), Answer: func(a a2atest.Asked) a2atest.Answer {
		switch {
		case strings.Contains(a.Message(), "fail"):
			return a2atest.Fail(400)
		case strings.Contains(a.Message(), "again") && a.N < 3:
			return a2atest.Fail(429)
		}
		return a2atest.Say("an answer of " + strings.Repeat("many words ", 50) + a.Message())
	}})
	var list []messenger.Request
	for i, text := range []string{"hello", "behind it", "fail", "again", "let's discuss this together"} {
		to := []string{"seum", "seum", "dajim", "dajim", "seum"}[i]
		list = append(list, team.Message("eden", to, text, func(r *messenger.Request) {
			r.Key, r.NoTurns, r.NoAnnounce = "k"+text, i != 4, i != 1
		}))
	}
	var first []messenger.Result
	for _, r := range list {
		one, types := ask(t, team, r, team.Clock.Now())
		if one.Status != "accepted" || one.Duplicate || len(types) == 0 {
			t.Fatalf("%s: %+v", r.Message, one)
		}
		first = append(first, one)
	}
	check := func(when string) {
		t.Helper()
		for i, r := range list {
			sent, err := team.Send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got, types := ask(t, team, r, team.Clock.Now())
			if diff := cmp.Diff(sent, got); diff != "" || !got.Duplicate || got.JobID != first[i].JobID || len(types) != 0 {
				t.Errorf("%s, %s: appends %v, (-sent +asked)\n%s", when, r.Message, types, diff)
			}
		}
	}
	check("before it is delivered")
	team.Wake()
	team.CheckSettled()
	check("when it is over")
	if got, _ := ask(t, team, list[2], team.Clock.Now()); got.Status != "error" || got.Code != "no_reply" || got.Error == "" {
		t.Errorf("that has failed: %+v", got)
	}
	if got, _ := ask(t, team, list[0], team.Clock.Now()); got.Status != "ok" || len(got.Reply) < 500 {
		t.Errorf("that was answered: %+v", got)
	}
	list[0].Message = "something else"
	if got, types := ask(t, team, list[0], team.Clock.Now()); got.Code != "idempotency_key_reused" || got.Status != "error" || len(types) != 0 {
		t.Errorf("with another message: %v, %+v", types, got)
	}
}

// Of a run the same call with the same message is one, also of the run that repeats it.
func TestAskOfARun(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	in := a2atest.Caller("eden")
	in.Entry, in.RunID = tool.ByRun, team.SayTo("eden", "go")
	of := func(key, text string) messenger.Request {
		return team.Message("eden", "seum", text, func(r *messenger.Request) { r.From, r.Key = in, key })
	}
	first, _ := ask(t, team, of("call_1", "look"), team.Clock.Now())
	again := team.MustSend("eden", "seum", "look", func(r *messenger.Request) { r.From, r.Key = in, "call_1" })
	if !again.Duplicate || again.JobID != first.JobID {
		t.Errorf("sent again: %+v, was %+v", again, first)
	}
	if other, _ := ask(t, team, of("call_1", "look there"), team.Clock.Now()); other.Duplicate || other.WorkSessionID != first.WorkSessionID {
		t.Errorf("another message: %+v", other)
	}
}

// What Send refuses, Ask does: with the same result and the same events.
func TestAskIsRefusedAsSendIs(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: `{"tools":{"agentToAgent":{"pairs":[{"from":"*","to":"dajim","allow":false}]}}}`})
	deny(t, team, "agent:seum:a2a:c-denied")
	hop := 21
	for name, c := range map[string]struct {
		to     string
		change func(*messenger.Request)
		code   string
		events []string
	}{
		"policy":           {"dajim", func(*messenger.Request) {}, "policy_denied", []string{"a2a.forbidden"}},
		"stranger":         {"stranger", func(*messenger.Request) {}, "unknown_agent", []string{"a2a.dispatch_failed"}},
		"too far":          {"seum", func(r *messenger.Request) { r.Hop = &hop }, "too_many_hops", []string{"a2a.forbidden"}},
		"no message":       {"seum", func(r *messenger.Request) { r.Message = " " }, "invalid_request", []string{"a2a.dispatch_failed"}},
		"no session":       {"seum", func(r *messenger.Request) { r.From.SessionKey = "" }, "invalid_request", []string{"a2a.dispatch_failed"}},
		"its run may not":  {"seum", func(r *messenger.Request) { r.ConversationID = "c-denied" }, "send_denied", nil},
		"an id that is no": {"seum", func(r *messenger.Request) { r.TaskID = strings.Repeat("x", 201) }, "invalid_request", []string{"a2a.dispatch_failed"}},
	} {
		r := team.Message("eden", c.to, "hello", c.change)
		before := len(team.Events("a2a."))
		sent, err := team.Send(context.Background(), r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var told []string
		for _, e := range team.Events("a2a.")[before:] {
			told = append(told, e.Type)
		}
		got, types := ask(t, team, r, team.Clock.Now())
		diff := cmp.Diff(sent, got, cmpopts.IgnoreFields(messenger.Result{}, "RunID", "JobID", "WorkSessionID"))
		if diff != "" || got.Code != c.code || got.Hint == "" {
			t.Errorf("%s: %+v, (-sent +asked)\n%s", name, got, diff)
		}
		if diff := cmp.Diff(told, types); diff != "" || len(types) == 0 || c.events != nil && !cmp.Equal(c.events, types) {
			t.Errorf("%s: want %v (-sent +asked)\n%s", name, c.events, diff)
		}
	}
	team.CheckFlows()
}
