package messenger_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// sends calls sessions_send in the name of an agent's main session.
func sends(t testing.TB, team *a2atest.Team, agent, args string) (r messenger.Result) {
	t.Helper()
	out := team.Use(agent, "sessions_send", args)
	if err := json.Unmarshal(out.Details, &r); err != nil {
		t.Fatalf("%s: %v", out.Details, err)
	}
	if refused := r.Status == "error" || r.Status == "forbidden"; out.IsError != refused || string(out.Details) != out.Text {
		t.Errorf("%s: is an error: %v", out.Text, out.IsError)
	}
	return r
}

func TestSendToolFindsItsTarget(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	for _, key := range []string{"agent:seum:discord:channel:7", "agent:eden:notes"} {
		k, err := coordination.ParseSessionKey(key)
		if err != nil {
			t.Fatal(err)
		}
		ask := run.Ask{Session: k, Label: "label-of-" + k.Agent, RunQueued: coordination.RunQueued{RunID: key, SessionKey: key, Message: "x"}}
		if _, err := team.Runner.Queue(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]struct{ status, code, key string }{
		`"agentId":"seum"`:                                 {"accepted", "", "agent:seum:main"},
		`"agentId":" Seum "`:                               {"accepted", "", "agent:seum:main"},
		`"sessionKey":"agent:seum:main"`:                   {"accepted", "", "agent:seum:main"},
		`"sessionId":"agent:seum:main"`:                    {"accepted", "", "agent:seum:main"},
		`"sessionKey":"AGENT:seum:discord:channel:7"`:      {"accepted", "", "agent:seum:discord:channel:7"},
		`"sessionKey":"main"`:                              {"accepted", "", "agent:eden:main"},
		`"sessionKey":"notes"`:                             {"accepted", "", "agent:eden:notes"},
		`"label":"label-of-seum"`:                          {"accepted", "", "agent:seum:discord:channel:7"},
		`"label":"label-of-seum","agentId":"seum"`:         {"accepted", "", "agent:seum:discord:channel:7"},
		`"sessionKey":"agent:seum:main","agentId":"seum"`:  {"accepted", "", "agent:seum:main"},
		`"label":"label-of-seum","agentId":"eden"`:         {"error", "unknown_session", ""},
		`"label":"stranger"`:                               {"error", "unknown_session", ""},
		`"sessionKey":"agent:seum:discord:channel:8"`:      {"error", "unknown_session", ""},
		`"sessionKey":"no-such-session"`:                   {"error", "unknown_session", ""},
		`"agentId":"seun"`:                                 {"error", "unknown_agent", "agent:seun:main"},
		`"topicId":"x"`:                                    {"error", "invalid_request", ""},
		`"sessionKey":"main","label":"l"`:                  {"error", "invalid_request", ""},
		`"sessionKey":"main","sessionId":"notes"`:          {"error", "invalid_request", ""},
		`"sessionKey":"agent:seum:main","agentId":"dajim"`: {"error", "invalid_request", ""},
		`"agentId":"*"`:                                    {"error", "invalid_request", ""},
	} {
		before := len(team.Events(coordination.TypeA2ADispatchFailed))
		r := sends(t, team, "eden", `{"message":"hello","timeoutSeconds":0,`+args+`}`)
		if r.Status != want.status || r.Code != want.code || r.SessionKey != want.key || r.RunID == "" || want.code != "" && (r.Error == "" || r.Hint == "") {
			t.Errorf("%s: %+v", args, r)
		}
		told := len(team.Events(coordination.TypeA2ADispatchFailed)) - before
		if want := map[string]int{"unknown_session": 1, "unknown_agent": 1}[want.code]; told != want {
			t.Errorf("%s: %d events, want %d", args, told, want)
		}
	}
	if r := sends(t, team, "eden", `{"message":"hello","agentId":"seun"}`); !strings.Contains(r.Hint, `did you mean "seum"?`) {
		t.Errorf("%+v", r)
	}
}

func TestSendToolChecksThePolicyWhenCalled(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	for _, c := range []struct {
		policy, from, to, status string
	}{
		{`{"enabled":false}`, "eden", "seum", "forbidden"},
		{`{"enabled":false}`, "eden", "eden", "accepted"},
		{`{"enabled":true}`, "eden", "seum", "accepted"},
		{`{"enabled":true,"allow":["eden","dajim"]}`, "eden", "seum", "forbidden"},
		{`{"enabled":true,"allow":["eden"],"pairs":[{"from":"eden","to":"seum","allow":true}]}`, "eden", "seum", "accepted"},
		{`{"enabled":true,"allow":["eden"],"pairs":[{"from":"eden","to":"seum","allow":true}]}`, "seum", "eden", "forbidden"},
		{`{"enabled":true,"pairs":[{"from":"seum","to":"*","allow":false}]}`, "seum", "dajim", "forbidden"},
	} {
		team.Configure(`{"tools":{"agentToAgent":` + c.policy + `}}`)
		before := len(team.Events(coordination.TypeA2AForbidden))
		r := sends(t, team, c.from, `{"message":"hello","timeoutSeconds":0,"agentId":"`+c.to+`"}`)
		told := len(team.Events(coordination.TypeA2AForbidden)) - before
		if r.Status != c.status || (r.Status == "forbidden") != (told == 1 && r.Code == "policy_denied" && r.Hint != "") {
			t.Errorf("%+v: %+v, %d events", c, r, told)
		}
	}
	// Callers do not learn of sessions that they may not write to.
	team.Configure(`{"tools":{"agentToAgent":{"enabled":false}}}`)
	for _, args := range []string{`"sessionKey":"agent:seum:discord:channel:8"`, `"label":"stranger","agentId":"seum"`} {
		if r := sends(t, team, "eden", `{"message":"hello",`+args+`}`); r.Status != "forbidden" {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestSendToolTakesPayloadsAndFlags(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: maxTurns("4")})
	payload := `{"type":"task_delegation","taskId":"t1","taskTitle":"a title","taskDescription":"what to do"}`
	quoted, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	object := sends(t, team, "eden", `{"agentId":"seum","message":"do it","timeoutSeconds":0.9,"payloadJson":`+payload+`,"depth":2.0,"hop":3}`)
	text := sends(t, team, "eden", `{"agentId":"dajim","message":"do it","timeoutSeconds":0,"payloadJson":`+string(quoted)+`,
		"replyBack":false,"announceStep":false,"taskId":" t9 ","workSessionId":"ws_9",
		"conversationId":"c9","parentConversationId":"p9","topicId":"x9"}`)
	created := map[string]coordination.A2AJobCreated{}
	for _, c := range a2atest.Data[coordination.A2AJobCreated](team, coordination.TypeA2AJobCreated, "") {
		created[c.JobID] = c
	}
	first, second := created[object.JobID], created[text.JobID]
	if first.PayloadType != "task_delegation" || first.PayloadSubject != "t1" || first.EffectiveTurns != 4 || first.NoAnnounce ||
		*first.Depth != 2 || *first.Hop != 3 || first.MessageIntent != "delegate" || object.PayloadType != "task_delegation" || first.IdempotencyKey != "" {
		t.Errorf("%+v", first)
	}
	if second.PayloadJSON != payload || second.EffectiveTurns != 0 || !second.NoAnnounce || second.TaskID != "t9" || second.WorkSessionID != "ws_9" ||
		second.ConversationID != "c9" || second.ParentConversationID != "p9" || second.TopicID != "x9" || *second.Hop != 1 || second.Origin != "cli" {
		t.Errorf("%+v", second)
	}
	if object.Status != "accepted" || object.Delivery.Mode != "announce" || text.Delivery.Mode != "" {
		t.Errorf("%+v, %+v", object, text)
	}
}

func TestSendToolIsNotForSubagents(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	child := a2atest.Caller("eden")
	child.Entry, child.SessionKey = tool.ByRun, "agent:eden:subagent:1"
	for _, spec := range team.Tools.Offer(child) {
		if spec.Name == "sessions_send" {
			t.Error("a sub-agent is offered sessions_send")
		}
	}
	own := a2atest.Caller("eden")
	own.Entry = tool.ByRun
	if offered := team.Tools.Offer(own); len(offered) != 1 || offered[0].Name != "sessions_send" {
		t.Errorf("%+v", offered)
	}
}

// A message without a waiting caller has no context of its own: the flow goes on, and the caller is told its state.
func TestTheEndOfTheCallerEndsTheWaitingAlone(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "eden" {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "seum", "message": "take your time", "timeoutSeconds": 3600, "replyBack": false}))
		}
		return d.answer(a)
	}})
	defer d.release()
	told := team.SayTo("eden", "go")
	d.arrive(t, 1)
	if _, err := team.Runner.Stop(t.Context(), run.Stop{RunID: told, Reason: "rpc"}); err != nil {
		t.Fatal(err)
	}
	if end := team.Ended(told); end.State != run.Aborted {
		t.Errorf("%+v", end)
	}
	d.release()
	team.CheckSettled()
	if f := team.Flows()[0]; f.Outcome != "ok" {
		t.Errorf("%+v", f)
	}
	if left := team.Waiting(); len(left) > 0 {
		t.Errorf("still counted: %v", left)
	}
}

// Of sessions of an agent to whom the caller may not write he learns nothing, not even that there are any, unless he names the agent himself.
func TestSendToolHidesWhatThePolicyForbids(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: `{"tools":{"agentToAgent":{"pairs":[{"from":"eden","to":"seum","allow":false}]}}}`})
	key, err := coordination.ParseSessionKey("agent:seum:discord:channel:7")
	if err != nil {
		t.Fatal(err)
	}
	ask := run.Ask{Session: key, Label: "hidden", RunQueued: coordination.RunQueued{RunID: "r", SessionKey: key.String(), Message: "x"}}
	if _, err := team.Runner.Queue(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	var id string
	err = team.Log.View(t.Context(), func(tx *sql.Tx) error {
		found, err := sessions.ByKey(t.Context(), tx, key.String())
		if found != nil {
			id = found.ID
		}
		return err
	})
	if err != nil || id == "" {
		t.Fatalf("session %q: %v", id, err)
	}
	try := func(agent, args, asked string) messenger.Result {
		r := sends(t, team, agent, `{"message":"hello","timeoutSeconds":0,`+args+`}`)
		r.RunID, r.Error = "", strings.ReplaceAll(r.Error, asked, "X")
		return r
	}
	for _, member := range []string{`"label":%q`, `"sessionKey":%q`, `"sessionId":%q`, `"sessionId":%q,"agentId":"dajim"`, `"sessionId":%q,"agentId":"seum"`,
		`"label":%q,"agentId":"seum"`} {
		there, none := id, "00000000-0000-4000-8000-000000000000"
		if strings.Contains(member, "label") {
			there, none = "hidden", "absent"
		}
		hidden, unknown := try("eden", fmt.Sprintf(member, there), there), try("eden", fmt.Sprintf(member, none), none)
		if diff := cmp.Diff(unknown, hidden); diff != "" {
			t.Errorf("%s (-unknown +hidden)\n%s", member, diff)
		}
		want, wantKey := "unknown_session", ""
		if strings.Contains(member, "seum") {
			want, wantKey = "policy_denied", "agent:seum:main"
		}
		if hidden.Code != want || hidden.SessionKey != wantKey {
			t.Errorf("%s: %+v", member, hidden)
		}
		if r := try("seum", fmt.Sprintf(strings.ReplaceAll(member, "dajim", "seum"), there), there); r.Status != "accepted" {
			t.Errorf("%s, of its own agent: %+v", member, r)
		}
	}
}
