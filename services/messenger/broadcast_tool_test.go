package messenger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2atest"
	"github.com/pronto-lab/openclawd/tools/messagetools"
)

// withBroadcast is a setting whose agents have sessions_broadcast.
func withBroadcast(set a2atest.Setting) a2atest.Setting {
	set.Tools = func(team *a2atest.Team) []tools.Tool { return []tools.Tool{messagetools.Broadcast(team.Service)} }
	return set
}

// broadcastOf is what a call of sessions_broadcast has answered.
func broadcastOf(t testing.TB, text string) (r messenger.BroadcastResult) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return r
}

// broadcasts calls sessions_broadcast in the name of an agent's main session.
func broadcasts(t testing.TB, team *a2atest.Team, agent, args string) messenger.BroadcastResult {
	t.Helper()
	out := team.Use(agent, "sessions_broadcast", args)
	r := broadcastOf(t, string(out.Details))
	if refused := r.Status == "error" || r.Status == "forbidden"; out.IsError != refused || string(out.Details) != out.Text {
		t.Errorf("%s: is an error: %v", out.Text, out.IsError)
	}
	return r
}

// codeOf is the code of a refused call, "" for one that was made.
func codeOf(err error) string {
	if e := (*tool.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// teamOfRoles is a configuration with a lead, workers, a specialist and those who only ever work for others.
const teamOfRoles = `{"agents":{"list":[{"id":"eden","default":true,"model":"test/eden","role":"lead"},{"id":"Seum","model":"test/seum"},
	{"id":"dajim","model":"test/dajim","role":"worker"},{"id":"miri","model":"test/miri","role":"specialist"},
	{"id":"juno","model":"test/juno","utility":true},{"id":"ruda","model":"test/ruda","kind":"utility"}]}}`

func TestBroadcastToolFindsItsTeam(t *testing.T) {
	t.Parallel()
	team := setup(t, withBroadcast(a2atest.Setting{Asleep: true, Config: teamOfRoles,
		Agents: []string{"eden", "seum", "dajim", "miri", "juno", "ruda"}}))
	for _, c := range []struct{ from, args, want string }{
		{"eden", `"team":"all"`, "accepted: seum accepted dajim accepted miri accepted"},
		{"seum", `"team":"all"`, "accepted: eden accepted dajim accepted miri accepted"},
		{"juno", `"team":"all"`, "accepted: eden accepted seum accepted dajim accepted miri accepted"},
		{"eden", `"team":"worker"`, "accepted: seum accepted dajim accepted"},
		{"dajim", `"team":"worker"`, "accepted: seum accepted"},
		{"dajim", `"team":"lead"`, "accepted: eden accepted"},
		{"eden", `"team":"specialist"`, "accepted: miri accepted"},
		{"eden", `"team":"lead"`, "error/empty_team:"},
		{"eden", `"agents":["miri"," Juno ","seum","miri"]`, "accepted: miri accepted juno accepted seum accepted"},
		{"eden", `"agents":["miri","eden"]`, "partial: miri accepted eden error/invalid_request"},
		{"eden", `"agents":["seun","seum"]`, "partial: seun error/unknown_agent seum accepted"},
		{"eden", `"topicId":"x"`, "error/invalid_request:"},
		{"eden", `"agents":["seum"],"team":"all"`, "error/invalid_request:"},
		{"eden", `"agents":["seum","*"]`, "error/invalid_request:"},
		{"eden", `"agents":["seum"],"taskId":"` + strings.Repeat("가", 100) + `"`, "error/invalid_request:"},
	} {
		r := broadcasts(t, team, c.from, `{"message":"hello","timeoutSeconds":0,`+c.args+`}`)
		got := statuses(&r)
		if len(r.Results) == 0 {
			got = r.Status + "/" + r.Code + ":"
		}
		if got != c.want || r.Status == "error" && (r.Error == "" || r.Hint == "") {
			t.Errorf("%s, %s: %s, want %s: %+v", c.from, c.args, got, c.want, r)
		}
	}
	for _, args := range []string{`{}`, `{"message":"x","team":"everybody"}`, `{"message":"x","agents":[]}`, `{"message":"x","agents":"seum"}`,
		`{"message":"x","team":"all","payloadJson":"{}"}`, `{"message":"","team":"all"}`, `{"message":"x","team":"all","timeoutSeconds":-1}`} {
		if _, err := team.Tools.Call(t.Context(), a2atest.Caller("eden"), "sessions_broadcast", json.RawMessage(args)); codeOf(err) != tool.CodeInvalid {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestBroadcastToolTakesItsArguments(t *testing.T) {
	t.Parallel()
	team := setup(t, withBroadcast(a2atest.Setting{Asleep: true, Config: maxTurns("4")}))
	r := broadcasts(t, team, "eden", `{"message":"let's discuss this together","team":"all","timeoutSeconds":0,"taskId":" t9 ",
		"workSessionId":"ws_9","topicId":"x9"}`)
	all := a2atest.Data[coordination.A2AJobCreated](team, coordination.TypeA2AJobCreated, "")
	if len(all) != 2 || r.WorkSessionID != "ws_9" || r.TaskID != "t9" {
		t.Fatalf("%d flows: %+v", len(all), r)
	}
	for _, c := range all {
		if c.TaskID != "t9" || c.WorkSessionID != "ws_9" || c.TopicID != "x9" || c.Origin != "cli" || !c.NoAnnounce || c.EffectiveTurns != 4 ||
			*c.Hop != 1 || c.RequesterSessionKey != "agent:eden:main" {
			t.Errorf("%+v", c)
		}
	}
}

func TestBroadcastToolIsNotForSubagents(t *testing.T) {
	t.Parallel()
	team := setup(t, withBroadcast(a2atest.Setting{Asleep: true}))
	child := a2atest.Caller("eden")
	child.Entry, child.SessionKey = tool.ByRun, "agent:eden:subagent:1"
	for _, spec := range team.Tools.Offer(child) {
		if spec.Name == "sessions_broadcast" {
			t.Error("sub-agents have it")
		}
	}
	_, err := team.Tools.Call(t.Context(), child, "sessions_broadcast", json.RawMessage(`{"message":"hello","team":"all"}`))
	if codeOf(err) != tool.CodeUnknown {
		t.Errorf("%v", err)
	}
}

// Agents get the answers of all together; what those answer who are late comes as a message.
func TestAnAgentBroadcasts(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	team := setup(t, withBroadcast(a2atest.Setting{Config: maxTurns("1"), Answer: func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool():
			return a2atest.Say(a.Last().Text)
		case a.Agent == "eden" && strings.Contains(a.Message(), "go"):
			return a2atest.Use(a2atest.Call{Name: "sessions_broadcast",
				Args: map[string]any{"team": "all", "message": "let's discuss this together: what do you think?", "timeoutSeconds": 5}})
		case a.Agent == "dajim":
			select {
			case <-free:
			case <-a.Context.Done():
			}
			return a2atest.Say("a late thought of dajim that says something")
		}
		return a2atest.Say("a thought of " + a.Agent + " that says something")
	}}))
	r := broadcastOf(t, team.Ended(team.SayTo("eden", "go")).Over.Text)
	wantStatuses(t, "one is late", r, "partial: seum ok dajim timeout", 2, 1, 0)
	if r.Results[0].Reply != "a thought of seum that says something" {
		t.Errorf("%+v", r.Results[0])
	}
	close(free)
	team.CheckSettled()
	late := false
	for _, a := range team.Model.Asked() {
		late = late || a.Agent == "eden" && strings.Contains(a.Message(), "a late thought of dajim")
	}
	if !late {
		t.Error("eden is not told what dajim answers later")
	}
}

// Long replies are cut so that the answer of the tool is whole, whatever is in them.
func TestRepliesOfABroadcastAreBounded(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{"long": strings.Repeat("가나다 ", 9_000), "long as JSON": strings.Repeat("\"\\\n\t\x01", 18_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			others := crowd(12)
			team := setup(t, withBroadcast(a2atest.Setting{Agents: append([]string{"eden"}, others...),
				Answer: func(a a2atest.Asked) a2atest.Answer {
					if a.Agent == "agent00" {
						return a2atest.Say("short")
					}
					return a2atest.Say(reply)
				}}))
			out := team.Use("eden", "sessions_broadcast", `{"message":"[NOTIFICATION] tell","team":"all","timeoutSeconds":300}`)
			r := broadcastOf(t, out.Text)
			if len(out.Text) > tools.MaxOutput || r.Status != "ok" || r.Answered != 12 || r.Results[0].Reply != "short" {
				t.Fatalf("%d bytes, %s", len(out.Text), statuses(&r))
			}
			for _, one := range r.Results[1:] {
				if !strings.HasSuffix(one.Reply, "\n...(truncated)...") || len(one.Reply) < 1_000 || strings.ContainsRune(one.Reply, '\uFFFD') {
					t.Errorf("%s: %d bytes: %.40q", one.AgentID, len(one.Reply), one.Reply)
				}
			}
			team.CheckSettled()
		})
	}
}
