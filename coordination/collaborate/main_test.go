package collaborate_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

const (
	begin   = int64(1_790_000_000_000)
	guild   = "500"
	lobby   = "100" // the default channel
	lab     = "101" // allowed
	private = "102" // not allowed
	forum   = "103" // allowed
	abroad  = "104" // allowed, in another guild
	peer    = "105" // direct messages
)

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a team on Discord, as it follows from what happens.
type world struct {
	t      tester
	s      collaborate.Situation
	now    int64
	opened int
	asked  int
}

func begins(t tester) *world {
	w := &world{t: t, now: begin}
	w.s = collaborate.Situation{
		Policy: collaborate.Policy{Reuse: 6 * time.Hour, PairLimit: 10, PairWindow: 5 * time.Minute},
		Agents: []collaborate.Agent{{ID: "ruda", Name: "루다", Account: "default"}, {ID: "eden", Name: "이든", Account: "eden-bot"},
			{ID: "seum", Name: "세움", Account: "seum-bot"}, {ID: "dajim", Name: "다짐", Account: "dajim-bot"}, {ID: "mute", Name: "무음"}},
		Bots: []collaborate.Bot{{AccountID: "default", UserID: "11", Agent: "ruda"}, {AccountID: "eden-bot", UserID: "12", Agent: "eden"},
			{AccountID: "seum-bot", UserID: "13"}},
		Judge: func(from, target string) collaborate.Verdict {
			return collaborate.Verdict{Allowed: target != "forbidden", Why: "a rule", Hint: "change the rule"}
		},
		Places: []collaborate.Place{{ID: lobby, Kind: collaborate.Text, GuildID: guild}, {ID: lab, Kind: collaborate.Text, GuildID: guild},
			{ID: private, Kind: collaborate.Text, GuildID: guild}, {ID: forum, Kind: collaborate.Forum, GuildID: guild},
			{ID: abroad, Kind: collaborate.Text, GuildID: "501"}, {ID: peer, Kind: collaborate.Direct}, {ID: "106", Kind: collaborate.Other, GuildID: guild}},
	}
	w.s.Policy.DefaultChannel, w.s.Policy.AllowedChannels, w.s.Policy.DefaultAccount = lobby, []string{lab, forum, abroad}, "default"
	return w
}

func (w *world) after(d time.Duration) *world {
	w.now += d.Milliseconds()
	return w
}

// thread is a thread that there is.
func (w *world) thread(id, parent string) *world {
	w.s.Places = append(w.s.Places, collaborate.Place{ID: id, Kind: collaborate.Thread, Name: "old thread", ParentID: parent, GuildID: guild})
	return w
}

func (w *world) change(thread string, change func(*collaborate.Place)) {
	for i := range w.s.Places {
		if w.s.Places[i].ID == thread {
			change(&w.s.Places[i])
		}
	}
}

func toEden(message string) collaborate.Request {
	return collaborate.Request{From: "ruda", Target: "eden", Message: message}
}

func (w *world) happens(e collaborate.Event) {
	w.t.Helper()
	text, err := json.Marshal(e.Data)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	if _, err := w.s.State.Apply(e.Type, text, w.now); err != nil {
		w.t.Fatalf("%v", err)
	}
	stored, err := json.Marshal(w.s.State)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.s.State = collaborate.State{}
	if err := json.Unmarshal(stored, &w.s.State); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// decides gives the plan for a request, and fails if there is none.
func (w *world) decides(r collaborate.Request) *collaborate.Plan {
	w.t.Helper()
	p, no := collaborate.Decide(&w.s, r, w.now)
	if no != nil {
		w.t.Fatalf("%s: %s (%s)", no.Reason, no.Text, no.HintText)
	}
	return p
}

// takes takes a plan on, and opens its thread if it wants one.
func (w *world) takes(p *collaborate.Plan) (requestID, threadID string) {
	w.t.Helper()
	w.asked++
	requestID, threadID = fmt.Sprint("req", w.asked), p.ThreadID
	w.happens(p.Requested(coordination.Context{}, requestID))
	if threadID == "" {
		w.opened++
		threadID = strconv.Itoa(9000 + w.opened)
		w.s.Places = append(w.s.Places, collaborate.Place{ID: threadID, Kind: collaborate.Thread, Name: p.ThreadName, ParentID: p.ChannelID, GuildID: p.GuildID})
		w.happens(p.Opened(requestID, threadID))
	}
	return requestID, threadID
}

// asks carries a request out, and gives its plan and thread.
func (w *world) asks(r collaborate.Request) (*collaborate.Plan, string) {
	w.t.Helper()
	p := w.decides(r)
	if p.Earlier != nil {
		return p, p.Earlier.ThreadID
	}
	id, thread := w.takes(p)
	w.happens(p.Sent(coordination.Context{}, id, thread, []string{"m" + id}, w.now))
	return p, thread
}

// refuses gives the refusal of a request, and fails if there is none or it lacks something.
func (w *world) refuses(r collaborate.Request, code, field string) *collaborate.Refusal {
	w.t.Helper()
	p, no := collaborate.Decide(&w.s, r, w.now)
	if no == nil {
		w.t.Fatalf("%+v, want %s", p, code)
	}
	if p != nil || no.Code() != code || no.Field != field || no.Error() == "" || no.Hint() == "" {
		w.t.Fatalf("%+v, want %s of %s, with text and hint, and no plan", no, code, field)
	}
	return no
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
