package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

type sessionsState struct {
	Path   string
	Count  int
	Recent []struct {
		Key            string
		UpdatedAt, Age int64
	}
}

type healthState struct {
	OK     bool
	Reason *struct{ Code, Message string }
	TS     int64

	Channels       map[string]channelState
	ChannelOrder   []string
	ChannelLabels  map[string]string
	DefaultAgentID string
	Agents         []struct {
		AgentID, Name string
		IsDefault     bool
		Heartbeat     struct {
			Enabled       bool
			Every, Target string
		}
		Sessions sessionsState
	}
	Sessions sessionsState
}

type channelState struct {
	AccountID                    string
	Enabled, Configured, Running bool
	Accounts                     map[string]channelState
}

const withDiscord = `{agents: {list: [{id: 'eden', default: true}]}, channels: {discord: {accounts: {
	b: {token: 'MTAwMDAwMDAwMDAwMDAwMDAx.GabcdE.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}, c: {enabled: false}}}}}`

func TestHealthCountsTheSessionsThatThereAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	b.tick(2 * time.Second)
	b.patch(t, `{"key":"agent:eden:s2"}`)
	b.tick(2 * time.Second)
	got := want[healthState](t, b, "health", `{}`)
	if !got.OK || got.Reason != nil || got.TS != b.now.Load() || got.DefaultAgentID != "main" || got.Sessions.Count != 2 || got.Sessions.Path == "" {
		t.Errorf("%+v", got)
	}
	if len(got.Agents) != 3 || got.Agents[0].AgentID != "main" || !got.Agents[0].IsDefault || got.Agents[0].Sessions.Count != 0 {
		t.Fatalf("%+v", got.Agents)
	}
	eden := got.Agents[1]
	if eden.AgentID != "eden" || eden.IsDefault || eden.Heartbeat.Enabled || eden.Heartbeat.Every != "disabled" || eden.Sessions.Count != 2 {
		t.Errorf("%+v", eden)
	}
	if len(eden.Sessions.Recent) != 2 || eden.Sessions.Recent[0].Key != "agent:eden:s2" || eden.Sessions.Recent[0].Age != 2000 {
		t.Errorf("%+v", eden.Sessions.Recent)
	}
}

// No member may be null or missing where a client reads on from it.
func TestHealthOfAnEmptyLogHasEveryMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, `{}`)
	text := string(b.answer(t, "health", `{}`))
	for _, part := range []string{`{"ok":true,"ts":`, `"channels":{},"channelOrder":[],"channelLabels":{},"heartbeatSeconds":0,"defaultAgentId":"main",` +
		`"agents":[{"agentId":"main","isDefault":true,"heartbeat":{"enabled":false,"every":"disabled","everyMs":null,"prompt":"","target":"none","ackMaxChars":0},` +
		`"sessions":{"path":`, `"count":0,"recent":[]}}],"sessions":{"path":`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

func TestHealthIsKeptWhileNothingChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := want[healthState](t, b, "health", `{}`)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	if again := want[healthState](t, b, "health", `{"anything":1}`); again.Sessions.Count != 0 {
		t.Error("looked at again within a second")
	}
	if probed := want[healthState](t, b, "health", `{"probe":true}`); probed.Sessions.Count != 1 {
		t.Error("a probe is answered with what was kept")
	}
	b.patch(t, `{"key":"agent:eden:s2"}`)
	b.tick(time.Second)
	changed := want[healthState](t, b, "health", `{}`)
	if changed.Sessions.Count != 2 {
		t.Errorf("%d sessions a second later", changed.Sessions.Count)
	}
	b.tick(50 * time.Second)
	if kept := want[healthState](t, b, "health", `{}`); kept.TS != changed.TS || kept.TS == first.TS {
		t.Errorf("computed again at %d although nothing has changed since %d", kept.TS, changed.TS)
	}
	b.tick(10 * time.Second)
	if renewed := want[healthState](t, b, "health", `{}`); renewed.TS != b.now.Load() {
		t.Error("an answer of a minute ago")
	}
}

func TestHealthFollowsTheConfigurationAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want[healthState](t, b, "health", `{}`)
	b.configure(t, withDiscord)
	got := want[healthState](t, b, "health", `{}`)
	if got.DefaultAgentID != "eden" || len(got.Agents) != 1 {
		t.Errorf("%+v", got.Agents)
	}
	discord := got.Channels["discord"]
	if !discord.Configured || discord.Running || !discord.Accounts["b"].Enabled || discord.Accounts["c"].Configured ||
		got.ChannelLabels["discord"] != "Discord" {
		t.Errorf("%+v", discord)
	}
	if text := string(b.answer(t, "health", `{}`)); strings.Contains(text, "GabcdE") {
		t.Error("shows a token")
	}
}

func TestHealthSaysThatTheStoreCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:eden:s1"}`)
	want[healthState](t, b, "health", `{}`)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	b.tick(2 * time.Second)
	got := want[healthState](t, b, "health", `{}`)
	if got.OK || got.Reason == nil || got.Reason.Code != "store_unreadable" || got.Sessions.Count != 1 || len(got.Agents) != 3 {
		t.Errorf("%+v", got)
	}
	snapshot, err := b.server.Snapshot(context.Background())
	if err != nil || !strings.Contains(string(snapshot.Health), `"ok":false`) {
		t.Errorf("%s, %v", snapshot.Health, err)
	}
	if refused := b.refused(t, "status", `{}`); refused.Code != protocol.CodeUnavailable {
		t.Errorf("%+v", refused)
	}
}

// Many who ask at once are answered alike, and one who leaves takes no one along.
func TestConcurrentHealthRequestsShareOneCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone, leave := context.WithCancel(context.Background())
	leave()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			ctx := context.Background()
			if i%2 == 0 {
				ctx = gone
			}
			answer, err := b.server.Answer(ctx, &wire.Call{Method: "health", Params: json.RawMessage(`{}`)})
			if err != nil && !errors.Is(err, context.Canceled) || err == nil && !strings.Contains(string(answer.(json.RawMessage)), `"ok":true`) {
				t.Errorf("%v, %v", answer, err)
			}
		})
	}
	all.Wait()
}

func TestSnapshotNamesTheMainSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for config, key := range map[string]string{
		`{}`:        "agent:main:main",
		withDiscord: "agent:eden:main",
		`{session: {scope: 'global'}, agents: {list: [{id: 'Zoe'}]}}`: "global",
	} {
		b.configure(t, config)
		got, err := b.server.Snapshot(context.Background())
		if err != nil || got.SessionDefaults.MainSessionKey != key || got.SessionDefaults.MainKey != "main" || got.ConfigPath == "" || got.StateDir == "" {
			t.Errorf("%s: %+v, %v", config, got, err)
		}
	}
}

type statusRow struct {
	AgentID, Key, Kind, SessionID, Model, ThinkingLevel      string
	Age                                                      int64
	TotalTokens, RemainingTokens, PercentUsed, ContextTokens *int64
	InputTokens                                              *int64
	TotalTokensFresh                                         bool
	Flags                                                    []string
}

type statusState struct {
	RuntimeVersion string
	Heartbeat      struct {
		DefaultAgentID string
		Agents         []struct {
			AgentID, Every string
			Enabled        bool
		}
	}
	ChannelSummary, QueuedSystemEvents []string
	Sessions                           struct {
		Paths    []string
		Count    int
		Defaults struct {
			Model         string
			ContextTokens int
		}
		Recent  []statusRow
		ByAgent []struct {
			AgentID, Path string
			Count         int
			Recent        []statusRow
		}
	}
}

func TestStatusShowsSessionsOfAllAndOfEachAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.patch(t, `{"key":"agent:eden:s1","thinkingLevel":"high"}`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"hi"`)
	b.say(t, "agent:eden:s1", `"author":"assistant","text":"ho","provider":"fake","model":"echo-2","usage":{"input":6000,"output":400,"total":6400}`)
	b.patch(t, `{"key":"main"}`)
	b.tick(time.Second)
	got := want[statusState](t, b, "status", `{"includeChannelSummary":false,"includeCliProjection":true}`)
	if got.Heartbeat.DefaultAgentID != "main" || len(got.Heartbeat.Agents) != 3 || got.Heartbeat.Agents[0].Enabled || got.ChannelSummary == nil ||
		got.QueuedSystemEvents == nil || got.RuntimeVersion == "" {
		t.Errorf("%+v", got)
	}
	s := got.Sessions
	if s.Count != 2 || len(s.Paths) != 1 || len(s.Recent) != 2 || s.Defaults.Model != "echo-1" || s.Defaults.ContextTokens != 128000 ||
		len(s.ByAgent) != 3 ||
		s.ByAgent[2].Recent == nil {
		t.Errorf("%+v", s)
	}
	eden := s.ByAgent[1].Recent[0]
	number := func(n int64) *int64 { return &n }
	wanted := statusRow{
		AgentID: "eden", Key: "agent:eden:s1", Kind: "direct", SessionID: made.Entry.SessionID, Model: "echo-2", ThinkingLevel: "high", Age: 1000,
		TotalTokens: number(6000), RemainingTokens: number(58000), PercentUsed: number(9), ContextTokens: number(64000), InputTokens: number(6000),
		TotalTokensFresh: true, Flags: []string{"think:high", "id:" + made.Entry.SessionID},
	}
	if diff := cmp.Diff(wanted, eden); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if main := s.ByAgent[0].Recent[0]; main.TotalTokens != nil || main.PercentUsed != nil || main.Model != "echo-1" {
		t.Errorf("%+v", main)
	}
}

func TestStatusShowsAgentsThatAreGoneAndChannels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patch(t, `{"key":"agent:seum:s1"}`)
	b.configure(t, withDiscord)
	got := want[statusState](t, b, "status", `{}`)
	if len(got.Sessions.ByAgent) != 2 || got.Sessions.ByAgent[1].AgentID != "seum" || got.Sessions.ByAgent[1].Count != 1 {
		t.Errorf("%+v", got.Sessions.ByAgent)
	}
	if diff := cmp.Diff([]string{"Discord: configured, not connected"}, got.ChannelSummary); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestChannelsAreShownAsConfiguredAndNotRunning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, `{}`)
	none := `,"channelOrder":[],"channelLabels":{},"channelDetailLabels":{},"channelSystemImages":{},"channelMeta":[],"channels":{},"channelAccounts":{},"channelDefaultAccountId":{}}`
	if text := string(b.answer(t, "channels.status", `{"probe":true,"timeoutMs":5}`)); !strings.HasSuffix(text, none) {
		t.Errorf("%s", text)
	}
	b.configure(t, withDiscord)
	got := want[struct {
		ChannelOrder            []string
		Channels                map[string]channelState
		ChannelAccounts         map[string][]channelState
		ChannelDefaultAccountID map[string]string
	}](t, b, "channels.status", `{}`)
	accounts := got.ChannelAccounts["discord"]
	if len(accounts) != 2 || !accounts[0].Configured || accounts[0].Running || accounts[1].Configured || accounts[1].Enabled ||
		!got.Channels["discord"].Configured || got.ChannelDefaultAccountID["discord"] != "b" {
		t.Errorf("%+v", got)
	}
	if refused := b.refused(t, "channels.status", `{"timeoutMs":-1}`); refused.Message != "invalid channels.status params: at /timeoutMs: must be >= 0" {
		t.Error(refused.Message)
	}
}

func TestPresenceShowsTheGatewayAndWhatIsNoted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if refused := b.refused(t, "system-event", `{"text":" "}`); refused.Message != "text required" {
		t.Error(refused.Message)
	}
	b.refused(t, "system-event", `{"text":"`+strings.Repeat("x", 9<<10)+`"}`)
	for _, params := range []string{`{"text":"x","wake":true}`, `{"text":"x","sessionKey":"agent:eden:main"}`} {
		if refused := b.refused(t, "system-event", params); refused.Code != protocol.CodeUnavailable {
			t.Errorf("%s: %+v, want that no agent can be told", params, refused)
		}
	}
	if got := string(b.answer(t, "system-event", `{"text":"hello there","ts":1}`)); got != `{"ok":true,"presence":true,"agentTold":false}` {
		t.Error(got)
	}
	got := want[[]wire.Presence](t, b, "system-presence", `{}`)
	if len(got) != 2 || got[0].Reason != "self" || got[1].Text != "hello there" || got[1].TS != b.now.Load() {
		t.Errorf("%+v", got)
	}
}

// askedLog remembers what it was asked for.
type askedLog struct {
	cursor          int64
	limit, maxBytes int
}

func (l *askedLog) Tail(cursor int64, limit, maxBytes int) gateway.LogTail {
	*l = askedLog{cursor, limit, maxBytes}
	return gateway.LogTail{Source: "memory", Cursor: 7, Size: 9, Truncated: true}
}

func TestLogsAreAskedForWithTheUsualBounds(t *testing.T) {
	t.Parallel()
	b, asked := setup(t), &askedLog{}
	b.server = gateway.New(gateway.Options{Log: b.db, Configuration: b.configuration, Logs: asked, Now: time.Now, NewID: uuid.NewString,
		Logger: slog.New(slog.DiscardHandler)})
	for params, wanted := range map[string]askedLog{
		`{}`:           {-1, 500, 250_000},
		`{"cursor":0}`: {0, 500, 250_000},
		`{"cursor":5,"limit":5000,"maxBytes":1000000}`: {5, 5000, 1_000_000},
	} {
		got := string(b.answer(t, "logs.tail", params))
		if got != `{"file":"memory","cursor":7,"size":9,"lines":[],"truncated":true,"reset":false}` || *asked != wanted {
			t.Errorf("%s: %s after asking for %+v", params, got, *asked)
		}
	}
	for params, message := range map[string]string{
		`{"limit":5001}`: "at /limit: must be <= 5000", `{"maxBytes":0}`: "at /maxBytes: must be >= 1", `{"cursor":-1}`: "at /cursor: must be >= 0",
	} {
		if got := b.refused(t, "logs.tail", params); got.Message != "invalid logs.tail params: "+message {
			t.Errorf("%s: %s", params, got.Message)
		}
	}
}

// Health is not broadcast at each request, but at once when it changes.
func TestAnotherHealthIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	told := make(chan client.Event, 10)
	c := dial(t, b.serve(t), client.Options{Event: func(e client.Event) {
		if e.Name == "health" {
			told <- e
		}
	}})
	before := over[healthState](t, c, "health", nil)
	over[healthState](t, c, "health", map[string]any{"probe": true})
	b.configure(t, withDiscord)
	after := over[healthState](t, c, "health", nil)
	e := <-told
	var heard healthState
	if err := json.Unmarshal(e.Payload, &heard); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, heard); diff != "" || before.DefaultAgentID != "main" || e.StateVersion == nil {
		t.Errorf("versions %+v (-answered +told)\n%s", e.StateVersion, diff)
	}
	over[any](t, c, "agents.list", nil)
	if len(told) != 0 {
		t.Errorf("told %d times more", len(told))
	}
}
