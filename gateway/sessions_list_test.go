package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

type row struct {
	Key, Kind, Label, DisplayName, SessionID, Channel, ChatType string
	UpdatedAt, CreatedAt                                        int64
	ThinkingLevel, SendPolicy                                   string
	ModelProvider, Model                                        string
	InputTokens, OutputTokens, TotalTokens                      *int64
	TotalTokensFresh                                            bool
	ContextTokens                                               int
	LastChannel, LastTo                                         string
	DeliveryContext                                             map[string]string
	DerivedTitle, LastMessagePreview                            string
	AgentID                                                     string
	IsMain                                                      bool
}

type list struct {
	TS       int64
	Path     string
	Count    int
	Defaults struct {
		ModelProvider, Model string
		ContextTokens        int
	}
	Sessions []row

	TotalCount, LimitApplied, Offset int
	NextOffset                       *int
	HasMore, Truncated               bool
}

func (l list) keys() []string {
	keys := []string{}
	for i := range l.Sessions {
		keys = append(keys, l.Sessions[i].Key)
	}
	return keys
}

func TestListHoldsAllThatIsKnownOfASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.patch(t, `{"key":"agent:eden:s1","label":"one","thinkingLevel":"high","sendPolicy":"deny"}`)
	b.tick(time.Second)
	b.say(t, "agent:eden:s1", `"author":"user","text":"hi there","channel":"discord","to":"user:7"`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"hello to you","provider":"fake","model":"echo-2","usage":{"input":100,"output":20,"total":120}`)
	got := want[list](t, b, "sessions.list", `{"includeDerivedTitles":true,"includeLastMessage":true}`)
	in, out, total := int64(100), int64(20), int64(100)
	one := row{
		Key: "agent:eden:s1", Kind: "direct", Label: "one", DisplayName: "one", SessionID: made.Entry.SessionID, UpdatedAt: b.now.Load(),
		ThinkingLevel: "high", SendPolicy: "deny", ModelProvider: "fake", Model: "echo-2", InputTokens: &in, OutputTokens: &out, TotalTokens: &total,
		TotalTokensFresh: true, ContextTokens: 64_000, LastChannel: "discord", LastTo: "user:7",
		DeliveryContext: map[string]string{"channel": "discord", "to": "user:7"}, DerivedTitle: "hi there", LastMessagePreview: "hello to you",
	}
	if diff := cmp.Diff([]row{one}, got.Sessions); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got.TS != b.now.Load() || got.Path != b.database || got.Count != 1 {
		t.Errorf("ts %d, path %q, count %d", got.TS, got.Path, got.Count)
	}
	if d := got.Defaults; d.ModelProvider != "fake" || d.Model != "echo-1" || d.ContextTokens != 128_000 {
		t.Errorf("defaults %+v", d)
	}
}

func TestListNamesSessionsByTheirKind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, key := range []string{"main", "global", "unknown", "agent:eden:discord:group:9", "agent:eden:telegram:direct:bob"} {
		b.patch(t, fmt.Sprintf(`{"key":%q}`, key))
	}
	got := map[string][3]string{}
	for _, one := range want[list](t, b, "sessions.list", `{"includeGlobal":true,"includeUnknown":true}`).Sessions {
		got[one.Key] = [3]string{one.Kind, one.Channel, one.ChatType}
	}
	kinds := map[string][3]string{
		"agent:main:main": {"direct", "", ""}, "global": {"global", "", ""}, "unknown": {"unknown", "", ""},
		"agent:eden:discord:group:9": {"group", "discord", "group"}, "agent:eden:telegram:direct:bob": {"direct", "telegram", "direct"},
	}
	if diff := cmp.Diff(kinds, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if keys := want[list](t, b, "sessions.list", `{}`).keys(); slices.Contains(keys, "global") || slices.Contains(keys, "unknown") {
		t.Errorf("global and unknown are listed without being asked for: %v", keys)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, p := range []string{`{"key":"agent:eden:alpha","label":"First One"}`, `{"key":"agent:main:beta","label":"second"}`,
		`{"key":"agent:eden:subagent:u1","spawnedBy":"agent:main:main"}`, `{"key":"agent:seum:gamma"}`} {
		b.patch(t, p)
		b.tick(10 * time.Minute)
	}
	all := []string{"agent:seum:gamma", "agent:eden:subagent:u1", "agent:main:beta", "agent:eden:alpha"}
	for params, keys := range map[string][]string{
		`{}`:                                         all,
		`{"limit":2}`:                                all[:2],
		`{"limit":1e1}`:                              all,
		`{"agentId":"EDEN"}`:                         {all[1], all[3]},
		`{"agentId":"ghost"}`:                        {},
		`{"label":" First One "}`:                    {all[3]},
		`{"label":"first one"}`:                      {},
		`{"search":" fIRST "}`:                       {all[3]},
		`{"search":"BETA"}`:                          {all[2]},
		`{"search":"  "}`:                            all,
		`{"search":"one","label":"second"}`:          {},
		`{"spawnedBy":"agent:main:main"}`:            {all[1]},
		`{"spawnedBy":"main"}`:                       {all[1]},
		`{"spawnedBy":" Main "}`:                     {all[1]},
		`{"spawnedBy":"agent:main:other"}`:           {},
		`{"activeMinutes":15}`:                       all[:1],
		`{"activeMinutes":25}`:                       all[:2],
		`{"activeMinutes":25,"limit":1}`:             all[:1],
		`{"activeMinutes":1}`:                        {},
		`{"activeMinutes":9007199254740991}`:         all,
		`{"agentId":"eden","activeMinutes":1000000}`: {all[1], all[3]},
	} {
		if got := want[list](t, b, "sessions.list", params); !slices.Equal(got.keys(), keys) || got.Count != len(keys) {
			t.Errorf("%s: %d rows %v, want %v", params, got.Count, got.keys(), keys)
		}
	}
	for _, method := range []string{"sessions.list", "sessions.resolve"} {
		if got := b.refused(t, method, `{"label":"second","spawnedBy":"agent::x"}`); got.Message != `malformed session key "agent::x"` {
			t.Errorf("%s: %q", method, got.Message)
		}
	}
}

// What is kept of an answer is worth nothing once a session, or a setting, has changed.
func TestListShowsEveryChangeAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const params = `{"includeDerivedTitles":true,"includeLastMessage":true}`
	seen := map[string]string{}
	look := func(after string) {
		t.Helper()
		first, again := withoutTime(b.answer(t, "sessions.list", params)), withoutTime(b.answer(t, "sessions.list", params))
		if first != again {
			t.Errorf("after %s: two answers differ:\n%s\n%s", after, first, again)
		}
		if other, twice := seen[first]; twice {
			t.Errorf("after %s: the answer is the one after %s: %s", after, other, first)
		}
		seen[first] = after
	}
	look("nothing")
	b.patch(t, `{"key":"agent:eden:s1","label":"one"}`)
	look("a patch that makes a session")
	b.patch(t, `{"key":"agent:eden:s1","label":"two"}`)
	look("another label")
	b.answer(t, "chat.inject", `{"sessionKey":"agent:eden:s1","message":"good day"}`)
	look("a message")
	b.say(t, "agent:eden:s1", `"author":"user","text":"a question"`)
	look("a message of a user")
	b.answer(t, "sessions.reset", `{"key":"agent:eden:s1"}`)
	look("a reset")
	b.configure(t, strings.Replace(fixtureConfig, "primary: 'fake/echo-1'", "primary: 'fake/echo-2'", 1))
	look("another default model")
	b.answer(t, "sessions.delete", `{"key":"agent:eden:s1"}`)
	look("a deletion")
}

// A client that has changed a session sees that in the next list, whatever others do at the same time.
func TestListShowsWhoAsksTheirOwnChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 10 {
				key := fmt.Sprintf("agent:eden:s%d-%d", i, n)
				if _, refused := b.call("sessions.patch", fmt.Sprintf(`{"key":%q}`, key)); refused != nil {
					t.Error(refused)
				}
				if body, refused := b.call("sessions.list", `{}`); refused != nil || !strings.Contains(string(body), `"`+key+`"`) {
					t.Errorf("%s is not listed: %v %s", key, refused, body)
				}
			}
		})
	}
	all.Wait()
	if n := want[list](t, b, "sessions.list", `{}`).Count; n != 80 {
		t.Errorf("%d sessions, want 80", n)
	}
}

// A client that disconnects while it computes an answer shared with others does not affect them.
func TestListIsMadeForThoseWhoStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone, leave := context.WithCancel(context.Background())
	leave()
	call := &wire.Call{Peer: b.as(), Method: "sessions.list", Params: json.RawMessage(`{}`)}
	for i := range 20 {
		b.patch(t, fmt.Sprintf(`{"key":"agent:eden:s%d"}`, i))
		var all sync.WaitGroup
		for who := range 6 {
			all.Go(func() {
				ctx := context.Background()
				if who%2 == 0 {
					ctx = gone
				}
				answer, err := b.server.Answer(ctx, call)
				if ctx != gone && (err != nil || strings.Count(string(answer.(json.RawMessage)), `"key"`) != i+1) {
					t.Errorf("%s, %v", answer, err)
				}
			})
		}
		all.Wait()
	}
}

// The time of an answer, and what it was asked to show of the last minutes, go on while nothing changes.
func TestListFollowsTheClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	for range 2 {
		if n := want[list](t, b, "sessions.list", `{"activeMinutes":1}`).Count; n != 1 {
			t.Fatalf("%d sessions active in the first minute, want 1", n)
		}
	}
	b.tick(2 * time.Minute)
	if n := want[list](t, b, "sessions.list", `{"activeMinutes":1}`).Count; n != 0 {
		t.Errorf("%d sessions are active after two minutes", n)
	}
	if ts := want[list](t, b, "sessions.list", `{}`).TS; ts != b.now.Load() {
		t.Errorf("ts %d, want %d", ts, b.now.Load())
	}
}

func TestListKeepsAnswersOfDifferentQuestionsApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.patch(t, fmt.Sprintf(`{"key":"agent:eden:s%d"}`, i))
	}
	for range 2 {
		for limit := 1; limit <= 200; limit++ { // more than are kept
			if got := want[list](t, b, "sessions.list", fmt.Sprintf(`{"limit":%d}`, limit)); got.Count != min(limit, 5) {
				t.Fatalf("limit %d gives %d", limit, got.Count)
			}
		}
	}
	b.protocol = 4
	if got := want[list](t, b, "sessions.list", `{"limit":2}`); got.TotalCount != 5 || got.Sessions[0].AgentID != "eden" {
		t.Errorf("a client of protocol 4 gets the answer of one of 3: %+v", got)
	}
}

func TestListTellsClientsOfProtocol4Pages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.patch(t, fmt.Sprintf(`{"key":"agent:eden:s%d"}`, i))
		b.tick(time.Second)
	}
	b.patch(t, `{"key":"main"}`)
	b.protocol = 4
	got := want[list](t, b, "sessions.list", `{"limit":2,"offset":2}`)
	if got.Count != 2 || got.TotalCount != 6 || got.LimitApplied != 2 || got.Offset != 2 || !got.HasMore || got.NextOffset == nil || *got.NextOffset != 4 {
		t.Errorf("a page in the middle: %+v", got)
	}
	last := want[list](t, b, "sessions.list", `{"limit":4,"offset":4}`)
	if last.Count != 2 || last.HasMore || last.NextOffset != nil {
		t.Errorf("the last page: %+v", last)
	}
	whole := want[list](t, b, "sessions.list", `{}`)
	if whole.LimitApplied != 100 || whole.Count != 6 || !whole.Sessions[0].IsMain || whole.Sessions[1].CreatedAt == 0 {
		t.Errorf("all: %+v", whole)
	}
	if got := want[list](t, b, "sessions.list", `{"archived":true}`); got.Count != 0 {
		t.Errorf("%d archived sessions; nothing is ever archived", got.Count)
	}
	// A client of protocol 3 knows of none of this.
	b.protocol = 3
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b.answer(t, "sessions.list", `{}`), &members); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(members)); !slices.Equal(names, []string{"count", "defaults", "path", "sessions", "ts"}) {
		t.Errorf("members %v", names)
	}
}

// A title is never empty, and no longer than a line.
func TestListTitles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.patch(t, `{"key":"agent:eden:quiet"}`)
	b.tick(time.Second)
	b.say(t, "agent:eden:long", `"author":"user","text":"`+strings.Repeat("아주 긴 이야기 ", 40)+`"`)
	rows := want[list](t, b, "sessions.list", `{"includeDerivedTitles":true}`).Sessions
	if title := rows[0].DerivedTitle; !strings.HasPrefix(title, "아주 긴 이야기") || len([]rune(title)) > 64 {
		t.Errorf("title %q", title)
	}
	if title := made.Entry.SessionID[:8] + " (2026-02-20)"; rows[1].DerivedTitle != title {
		t.Errorf("title %q, want %q", rows[1].DerivedTitle, title)
	}
	if plain := want[list](t, b, "sessions.list", `{}`).Sessions[0]; plain.DerivedTitle != "" || plain.LastMessagePreview != "" {
		t.Errorf("told without being asked for: %+v", plain)
	}
}

func withoutTime(answer json.RawMessage) string {
	_, rest, _ := strings.Cut(string(answer), ",")
	return rest
}

// Waiting messages and their waiting time are shown in the session's row, up to date each time; the rest of the answer
// is cached.
func TestListTellsWhatWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.runs = newStage(b)
	b.reopen(t)
	for _, key := range []string{"agent:eden:a", "agent:eden:b", "agent:eden:c"} {
		b.patch(t, `{"key":"`+key+`"}`)
		b.tick(time.Millisecond)
	}
	rows := func() (told []string) {
		t.Helper()
		for _, row := range want[struct {
			Sessions []struct {
				Key   string
				Queue json.RawMessage
			}
		}](t, b, "sessions.list", `{}`).Sessions {
			told = append(told, row.Key+string(row.Queue))
		}
		return told
	}
	idle := []string{"agent:eden:c", "agent:eden:b", "agent:eden:a"}
	if diff := cmp.Diff(idle, rows()); diff != "" {
		t.Error(diff)
	}
	queue := func(key string, depth, waited int) string {
		return fmt.Sprintf(`%s{"depth":%d,"running":0,"oldestWaitMs":%d}`, key, depth, waited)
	}
	b.waits(t, "agent:eden:b", "1")
	b.tick(time.Second)
	b.waits(t, "agent:eden:b", "2")
	b.waits(t, "agent:eden:a", "3")
	for i := range 3 {
		wanted := []string{"agent:eden:c", queue("agent:eden:b", 2, 1_000*(i+1)), queue("agent:eden:a", 1, 1_000*i)}
		if diff := cmp.Diff(wanted, rows()); diff != "" {
			t.Error(diff)
		}
		b.tick(time.Second)
	}
	b.patch(t, `{"key":"agent:eden:d"}`)
	if got := rows(); len(got) != 4 || got[2] != queue("agent:eden:b", 2, 4_000) {
		t.Errorf("%q", got)
	}
}
