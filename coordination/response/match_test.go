package response_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination/response"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*world, *response.Message)
		want   string
	}{
		{"the target, in the thread", func(*world, *response.Message) {}, "r1"},
		{"another agent", func(_ *world, m *response.Message) { m.AgentID = "seum" }, ""},
		{"the agent who has asked", func(_ *world, m *response.Message) { m.AgentID = "ruda" }, ""},
		{"a person", func(_ *world, m *response.Message) { m.AgentID = "" }, ""},
		{"another thread", func(_ *world, m *response.Message) { m.ThreadID = "900000000000000002" }, ""},
		{"no id", func(_ *world, m *response.Message) { m.ID = "" }, ""},
		{"an id before the request", func(_ *world, m *response.Message) { m.ID = "999999999999999999" }, ""},
		{"an id after it, by a clock that is slow", func(_ *world, m *response.Message) { m.At = begin - 5000 }, "r1"},
		{"no Discord id, before it", func(_ *world, m *response.Message) { m.ID, m.At = "local-1", begin-1 }, ""},
		{"no Discord id, with it", func(_ *world, m *response.Message) { m.ID, m.At = "local-1", begin }, "r1"},
		{"said to be the system's", func(_ *world, m *response.Message) { m.System = true }, ""},
		{"a report", func(_ *world, m *response.Message) { m.Report = true }, ""},
		{"a reminder", func(_ *world, m *response.Message) { m.Text = response.Reminder(response.Party{UserID: "7"}) }, ""},
		{"an escalation", func(_ *world, m *response.Message) {
			m.Text = " " + response.Escalation(response.Party{Name: "병욱"}, response.Party{Name: "루다"}, 15) + "\n"
		}, ""},
		{"about a reminder", func(_ *world, m *response.Message) {
			m.Text = "[리마인더] 봤어요, 위 요청 확인했습니다."
		}, "r1"},
		{"a warning of its own", func(_ *world, m *response.Message) { m.Text = "⚠️ 빌드가 깨졌습니다. 확인 필요." }, "r1"},
		{"the nonce of a reminder", func(_ *world, m *response.Message) { m.Nonce = "sys0123456789abcdef012345" }, ""},
		{"another nonce", func(_ *world, m *response.Message) { m.Nonce = "system" }, "r1"},
		{"an empty text", func(_ *world, m *response.Message) { m.Text = "" }, "r1"},
		{"a request of its own", func(w *world, m *response.Message) { m.ID = w.asks("r2", "eden", "seum") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t)
			w.asks("r1", "ruda", "eden")
			m := w.after(time.Minute).from("eden")
			tt.change(w, &m)
			equal(t, "answered", w.hears(m), tt.want)
		})
	}
}

func TestFirstInFirstOut(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	w.after(time.Second).asksIn("900000000000000002", "elsewhere", "ruda", "eden")
	w.asks("r2", "seum", "eden")
	w.asks("other", "ruda", "seum")
	w.after(time.Second).asks("r3", "ruda", "eden")
	for _, want := range []string{"r1", "r2", "r3", ""} {
		equal(t, "answered", w.after(time.Second).hears(w.from("eden")), want)
	}
	equal(t, "elsewhere", w.status("elsewhere"), response.StatusPending)
	equal(t, "of another agent", w.status("other"), response.StatusPending)
}

// The order is that of the requests, whatever the order is in which they become known.
func TestFirstInFirstOutWhateverComesFirst(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.after(time.Second).asks("r2", "ruda", "eden")
	w.after(-time.Second).asks("r1", "ruda", "eden")
	equal(t, "answered", w.after(time.Minute).hears(w.from("eden")), "r1")
}

func TestReplies(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	second := w.after(time.Second).asks("r2", "ruda", "eden")
	other := w.asks("r3", "ruda", "seum")
	reply := func(to string) response.Message {
		m := w.after(time.Second).from("eden")
		m.ReplyTo = to
		return m
	}
	equal(t, "a reply to the second", w.hears(reply(second)), "r2")
	equal(t, "another reply to the second, which is over", w.hears(reply(second)), "")
	equal(t, "a reply to what another agent is asked", w.hears(reply(other)), "")
	reminder := ""
	w.after(5 * time.Minute).does(func(response.Action) (string, string) {
		if reminder == "" {
			reminder = w.snowflake()
			return reminder, ""
		}
		return w.snowflake(), ""
	})
	equal(t, "a reply to the reminder of the first", w.hears(reply(reminder)), "r1")
	w.asks("r4", "ruda", "eden")
	equal(t, "a reply to something else", w.hears(reply("1000000000000000999")), "r4")
}

// What an agent says names what it was asked by: it answers that, and nothing else, however long other requests have waited.
func TestAnswersWhatHasCausedIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(w *world, first, second string, m *response.Message)
		want   string
	}{
		{"nothing says why", func(*world, string, string, *response.Message) {}, "r1"},
		{"the second request", func(_ *world, _, second string, m *response.Message) { m.CausedBy = second }, "r2"},
		{"the second request, by its id", func(_ *world, _, _ string, m *response.Message) { m.CausedBy, m.CollabID = "999", "r2" }, "r2"},
		{"a reminder of the second one", func(w *world, _, _ string, m *response.Message) {
			m.CausedBy = w.snowflake()
			w.happens(w.state.Find("r2").Done(response.Action{Kind: response.Remind, Step: 1}, m.CausedBy, ""))
			m.ID = w.snowflake()
		}, "r2"},
		{"what a person has said after both", func(_ *world, _, _ string, m *response.Message) { m.CausedBy = "1000000000000000009" }, "r1"},
		{"what a person has said before both", func(_ *world, _, _ string, m *response.Message) { m.CausedBy = "999999999999999999" }, ""},
		{"a request that is not known here", func(_ *world, _, _ string, m *response.Message) { m.CausedBy, m.CollabID = "999", "r9" }, ""},
		{"a request to another agent", func(w *world, _, _ string, m *response.Message) {
			m.CausedBy = w.asks("r3", "ruda", "seum")
			m.ID = w.snowflake()
		}, ""},
		{"a reply to the first one, caused by the second", func(_ *world, first, second string, m *response.Message) {
			m.ReplyTo, m.CausedBy = first, second
		}, "r1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t)
			first, second := w.asks("r1", "ruda", "eden"), w.after(time.Second).asks("r2", "ruda", "eden")
			m := w.after(time.Minute).from("eden")
			tt.change(w, first, second, &m)
			equal(t, "answered", w.hears(m), tt.want)
			if m.CollabID != "" && tt.want != "" {
				equal(t, "answered by another message", w.hears(response.Message{ID: w.snowflake(), ThreadID: here, AgentID: "eden", At: w.now,
					CausedBy: m.CausedBy, CollabID: m.CollabID}), "")
			}
		})
	}
}

// A message that is reported by each of the bots that see it answers one request.
func TestBug35_OneReplyAnswersOneRequest(t *testing.T) {
	t.Parallel()
	w := begins(t)
	for _, id := range []string{"r1", "r2", "r3", "r4"} {
		w.after(time.Second).asks(id, "ruda", "eden")
	}
	m := w.after(time.Second).from("eden")
	equal(t, "answered", w.hears(m), "r1")
	for range 10 {
		equal(t, "answered by the same message", w.hears(m), "")
	}
	for _, id := range []string{"r2", "r3", "r4"} {
		equal(t, id, w.status(id), response.StatusPending)
	}
}

// The events of two processes that have seen the same message do not answer two requests either.
func TestBug35_TwoDecisionsAboutOneReply(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	m := w.after(time.Minute).from("eden")
	e, _ := w.state.Match(m)
	w.asks("r2", "ruda", "eden")
	w.happens(e)
	d := e.Data.(response.Responded)
	d.RequestID = "r2"
	if w.happens(response.Event{Type: e.Type, Data: d}) || w.status("r2") != response.StatusPending {
		t.Error("one message has answered two requests")
	}
}

// The target was asked by another of its names: the request is followed under its id, by which its messages are known.
func TestBug36_AnswersAreKnownByTheAgentsID(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "seum", "ruda") // as account default
	equal(t, "answered", w.after(time.Minute).hears(w.from("ruda")), "r1")
}

func TestInvariant41_SystemTextsAnswerNothing(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	w.after(time.Second).asks("r2", "eden", "ruda") // and so ruda's bot reminds eden, in a thread in which ruda has to answer
	w.now = begin + (6 * time.Minute).Milliseconds()
	said := w.does(w.posted)
	equal(t, "reminders", len(said), 2)
	for _, a := range said {
		r := w.state.Find(a.RequestID)
		byText, byNonce, byID := w.from(r.FromAgent), w.from(r.FromAgent), w.from(r.FromAgent)
		byText.Text = response.Reminder(response.Party{UserID: "77"})
		byNonce.Nonce = a.Nonce
		byID.ID = r.SystemIDs[0]
		for _, m := range []response.Message{byText, byNonce, byID} {
			equal(t, "answered by the reminder", w.hears(m), "")
		}
	}
	equal(t, "answered by ruda", w.hears(w.from("ruda")), "r2")
}

func TestInvariant31_OneTransitionForAMessage(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks("r1", "ruda", "eden")
	m := w.after(time.Minute).from("eden")
	equal(t, "answered", w.hears(m), "r1")
	w.asks("r2", "ruda", "eden")
	equal(t, "the same message, later", w.hears(m), "")
}

// Clocks of services differ, and Telegram counts seconds only: which of two messages of a place came first is told by their ids.
func TestMessagesOfAPlaceAreOrderedByTheirIds(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		"telegram:-1:10": true, "telegram:-1:8": false, "slack:c1:1700000000.000200": true, "slack:c1:1700000000.000050": false,
		"slack:c1:1700000001.000000": true,
		"telegram:-2:10":             false, "telegram:-1:h10": false, // no order is known: the time counts
	} {
		request := "telegram:-1:9"
		if strings.HasPrefix(answer, "slack") {
			request = "slack:c1:1700000000.000100"
		}
		s := response.State{Requests: []response.Request{{ID: "r1", TargetAgent: "eden", ThreadID: here, MessageIDs: []string{request}, SentAt: 1_999, Status: response.StatusPending}}}
		if _, is := s.Match(response.Message{ID: answer, ThreadID: here, AgentID: "eden", At: 1_000}); is != want {
			t.Errorf("%s answers %s: %t, want %t", answer, request, is, want)
		}
	}
}
