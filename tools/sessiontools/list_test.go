package sessiontools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

type listed struct {
	Count     int
	Truncated bool
	Sessions  []struct {
		Key, Kind, Channel, Label, DisplayName, SessionID, Model, ModelProvider string
		UpdatedAt                                                               int64
		ContextTokens                                                           int
		TotalTokens                                                             *int64
		Messages                                                                []message
	}
}

type message struct {
	Role       string
	Content    []map[string]any
	ToolCallID string
	IsError    *bool
}

func (l *listed) keys() string {
	var keys []string
	for _, s := range l.Sessions {
		keys = append(keys, s.Key)
	}
	return strings.Join(keys, " ")
}

const (
	tree  = `tools: {sessions: {visibility: 'tree'}}`
	agent = `tools: {sessions: {visibility: 'agent'}}`
	all   = `tools: {sessions: {visibility: 'all'}, agentToAgent: {enabled: true}}`
)

// Which sessions a caller sees: those of another agent only if both settings allow it.
func TestVisibility(t *testing.T) {
	t.Parallel()
	const (
		ofEden  = "agent:eden:main agent:eden:subagent:s2 agent:eden:subagent:s1"
		ofEden2 = "agent:eden:main agent:eden:subagent:s2 agent:eden:subagent:s1 agent:eden:discord:channel:77"
		ofSeum  = "agent:seum:main agent:seum:subagent:x"
		ofMain  = "global agent:main:cron:daily agent:main:main"
		both    = "agent:seum:main agent:eden:main agent:seum:subagent:x agent:eden:subagent:s2 agent:eden:subagent:s1 agent:eden:discord:channel:77"
		whole   = "agent:seum:main agent:eden:main global agent:main:cron:daily agent:seum:subagent:x " +
			"agent:eden:subagent:s2 agent:eden:subagent:s1 agent:eden:discord:channel:77 agent:main:main"
	)
	for name, c := range map[string]struct{ settings, from, want string }{
		"default is tree":                 {"", "agent:eden:main", ofEden},
		"self":                            {`tools: {sessions: {visibility: 'self'}}`, "agent:eden:main", "agent:eden:main"},
		"tree":                            {tree, "agent:eden:main", ofEden},
		"tree of a leaf":                  {tree, "agent:eden:discord:channel:77", "agent:eden:discord:channel:77"},
		"tree of nothing":                 {tree, "agent:eden:new", ""},
		"agent":                           {agent, "agent:eden:discord:channel:77", ofEden2},
		"agent with its own":              {agent, "agent:seum:main", ofSeum},
		"agent with an ownerless session": {agent, "agent:main:main", ofMain},
		"all without the policy":          {`tools: {sessions: {visibility: 'all'}}`, "agent:eden:main", ofEden2},
		"policy without all":              {`tools: {agentToAgent: {enabled: true}}`, "agent:eden:main", ofEden},
		"policy with agent":               {`tools: {sessions: {visibility: 'agent'}, agentToAgent: {enabled: true}}`, "agent:seum:main", ofSeum},
		"all":                             {all, "agent:eden:main", whole},
		"all, two are named":              {`tools: {sessions: {visibility: 'all'}, agentToAgent: {enabled: true, allow: ['eden', 'se*']}}`, "agent:eden:main", both},
		"all, the caller is not":          {`tools: {sessions: {visibility: 'all'}, agentToAgent: {enabled: true, allow: ['seum', 'main']}}`, "agent:eden:main", ofEden2},
		"all, only the caller is":         {`tools: {sessions: {visibility: 'all'}, agentToAgent: {enabled: true, allow: ['eden']}}`, "agent:eden:main", ofEden2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, c.settings, team()...)
			got, _ := call[listed](t, f, c.from, "sessions_list", `{}`)
			if got.keys() != c.want || got.Count != len(got.Sessions) || got.Truncated {
				t.Errorf("%s sees\n%s, want\n%s", c.from, got.keys(), c.want)
			}
			// What is listed can be read, and nothing else, by any of its names.
			for _, s := range []struct{ key, id, label string }{
				{"agent:main:main", "id-main", ""}, {"agent:eden:main", "id-eden", ""}, {"agent:eden:discord:channel:77", "id-channel", "일반 대화"},
				{"agent:eden:subagent:s1", "id-s1", "조사"}, {"agent:eden:subagent:s2", "id-s2", ""}, {"agent:seum:main", "id-seum", "seum-desk"},
				{"agent:seum:subagent:x", "id-x", ""}, {"agent:main:cron:daily", "id-cron", ""}, {"global", "id-global", ""},
			} {
				visible := slices.Contains(strings.Fields(c.want), s.key)
				for _, ref := range []string{s.key, s.id, s.label, strings.ToUpper(s.key)} {
					if ref == "" {
						continue
					}
					for _, name := range []string{"sessions_history", "session_status"} {
						answer, out := call[struct{ Status, SessionKey, Error string }](t, f, c.from, name, fmt.Sprintf(`{"sessionKey":%q}`, ref))
						switch {
						case visible && (out.IsError || answer.SessionKey != s.key):
							t.Errorf("%s %s is refused: %s", name, ref, out.Text)
						case !visible && (!out.IsError || answer.Status != "forbidden" || answer.Error == "" || answer.SessionKey != ref):
							t.Errorf("%s %s is answered: %s", name, ref, out.Text)
						}
					}
				}
			}
		})
	}
}

// Callers that may not see another agent's session do not learn whether it exists.
func TestKeysOfOthersTellNothing(t *testing.T) {
	t.Parallel()
	f := setup(t, agent, team()...)
	_, there := call[struct{}](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"agent:seum:main"}`)
	_, none := call[struct{}](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"agent:seum:none"}`)
	if !there.IsError || strings.ReplaceAll(there.Text, "seum:main", "seum:none") != none.Text {
		t.Errorf("%s\n%s", there.Text, none.Text)
	}
}

// A caller's own sessions are found behind any number of others.
func TestListPassesOverOthers(t *testing.T) {
	t.Parallel()
	events := slices.Concat(made(0, "agent:main:main", "id-1", "", ""), made(1, "cron:tidy", "id-2", "", ""))
	for i := range 450 {
		events = append(events, made(int64(10+i), fmt.Sprintf("agent:seum:s%d", i), fmt.Sprint("id-s", i), "", "")...)
		if i == 200 {
			events = append(events, made(int64(10+i), "agent:main:side", "id-3", "", "")...)
		}
	}
	f := setup(t, agent, events...)
	got, _ := call[listed](t, f, "agent:main:main", "sessions_list", `{}`)
	if want := "agent:main:side cron:tidy agent:main:main"; got.keys() != want || got.Truncated {
		t.Errorf("%s, want %s", got.keys(), want)
	}
}

// A session tree with a cycle, or through another agent, still shows what it should.
func TestTreesThatAreNone(t *testing.T) {
	t.Parallel()
	events := slices.Concat(
		made(1, "agent:eden:main", "id-1", "agent:eden:subagent:b", ""), made(2, "agent:eden:subagent:a", "id-2", "agent:eden:main", ""),
		made(3, "agent:eden:subagent:b", "id-3", "agent:eden:subagent:a", ""), made(4, "agent:seum:subagent:c", "id-4", "agent:eden:main", ""),
		made(5, "agent:eden:subagent:d", "id-5", "agent:seum:subagent:c", ""), made(6, "agent:eden:subagent:e", "id-6", "agent:eden:subagent:e", ""))
	f := setup(t, "", events...)
	got, _ := call[listed](t, f, "agent:eden:main", "sessions_list", `{}`)
	if want := "agent:eden:subagent:b agent:eden:subagent:a agent:eden:main"; got.keys() != want {
		t.Errorf("the tree is %s, want %s", got.keys(), want)
	}
	for _, key := range []string{"agent:eden:subagent:d", "agent:eden:subagent:e"} {
		if _, out := call[struct{}](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"`+key+`"}`); !out.IsError {
			t.Errorf("%s is shown", key)
		}
	}
}

func TestListRows(t *testing.T) {
	t.Parallel()
	f := setup(t, all, team()...)
	got, out := call[struct{ Sessions []map[string]any }](t, f, "agent:eden:main", "sessions_list", `{"limit":2}`)
	want := map[string]any{
		"key": "agent:eden:main", "kind": "main", "channel": "discord", "displayName": got.Sessions[1]["displayName"], "updatedAt": float64(base + 12*60_000),
		"sessionId": "id-eden", "modelProvider": "fake", "model": "echo-2", "contextTokens": 64000.0, "totalTokens": 1000.0,
		"deliveryContext": map[string]any{"channel": "discord", "to": "user:5", "accountId": "bot"},
		"lastChannel":     "discord", "lastTo": "user:5", "lastAccountId": "bot",
	}
	if diff := cmp.Diff(want, got.Sessions[1]); diff != "" {
		t.Error(diff)
	}
	if name, _ := got.Sessions[1]["displayName"].(string); !strings.HasPrefix(name, "안녕하세요") {
		t.Errorf("the display name is %q", name)
	}
	if string(out.Details) != out.Text || !strings.Contains(out.Text, `"truncated":true`) || strings.Contains(out.Text, "\n") {
		t.Errorf("text is %s, details are %s", out.Text, out.Details)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	f := setup(t, all, team()...)
	for args, want := range map[string]string{
		`{"kinds":["cron"]}`:               "agent:main:cron:daily",
		`{"kinds":["group"]}`:              "agent:eden:discord:channel:77",
		`{"kinds":["main"]}`:               "agent:seum:main agent:eden:main global agent:main:main",
		`{"kinds":["other","nonsense"]}`:   "agent:seum:subagent:x agent:eden:subagent:s2 agent:eden:subagent:s1",
		`{"kinds":["node","hook"]}`:        "",
		`{"kinds":["nonsense"],"limit":1}`: "agent:seum:main",
		`{"kinds":[],"limit":1}`:           "agent:seum:main",
		`{"activeMinutes":588}`:            "agent:seum:main agent:eden:main",
		`{"activeMinutes":1}`:              "",
	} {
		got, _ := call[listed](t, f, "agent:eden:main", "sessions_list", args)
		if got.keys() != want {
			t.Errorf("%s: %s, want %s", args, got.keys(), want)
		}
	}
}

func TestListWithMessages(t *testing.T) {
	t.Parallel()
	f := setup(t, "", team()...)
	got, _ := call[listed](t, f, "agent:eden:main", "sessions_list", `{"messageLimit":2,"kinds":["main"]}`)
	var texts []string
	for _, m := range got.Sessions[0].Messages {
		texts = append(texts, fmt.Sprint(m.Role, " ", m.Content[0]["text"]))
	}
	if diff := cmp.Diff([]string{"user 안녕하세요, 이슈를 봐 주세요. 열쇠는 ***", "assistant 다 봤습니다."}, texts); diff != "" {
		t.Error(diff)
	}
}

// However many sessions and messages there are, the answer is JSON of bounded size that says what is missing.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	events := made(0, "agent:eden:main", "id", "", "")
	for i := range 250 {
		key := fmt.Sprintf("agent:eden:subagent:n%d", i)
		events = append(events, made(int64(i), key, fmt.Sprint("id-", i), "agent:eden:main", "")...)
		if i < 30 {
			events = append(events, said(int64(300+i), key, "user", strings.Repeat("긴 글 ", 2_000)), said(int64(300+i), key, "user", strings.Repeat("더 긴 글 ", 2_000)))
		}
	}
	f := setup(t, "", events...)
	for args, most := range map[string]int{`{}`: 50, `{"limit":200}`: 200, `{"limit":200,"messageLimit":20}`: 40} {
		got, out := call[listed](t, f, "agent:eden:main", "sessions_list", args)
		if got.Count > most || got.Count < 5 || !got.Truncated || len(out.Text) > 200<<10 {
			t.Errorf("%s: %d sessions in %d bytes, truncated %v", args, got.Count, len(out.Text), got.Truncated)
		}
	}
}

// A sub-agent does its work and may not read sessions.
func TestSubagentsHaveNone(t *testing.T) {
	t.Parallel()
	f := setup(t, all, team()...)
	if got := f.box.Offer(tool.Caller{Entry: tool.ByRun, SessionKey: "agent:eden:subagent:s1"}); got != nil {
		t.Errorf("offered are %v", got)
	}
	var names []string
	for _, s := range f.box.Offer(tool.Caller{Entry: tool.ByRun, SessionKey: "agent:eden:a2a:c1"}) {
		names = append(names, s.Name)
		if s.Label == "" || s.Description == "" || s.Group != tool.GroupSessions || !json.Valid(s.Schema) {
			t.Errorf("%+v is not described", s)
		}
	}
	if diff := cmp.Diff([]string{"session_status", "sessions_history", "sessions_list"}, names); diff != "" {
		t.Error(diff)
	}
}
