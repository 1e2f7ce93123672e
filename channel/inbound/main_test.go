package inbound_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	testscale.Checks(5, 40)
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that has to happen.
const patience = testscale.Patience

const (
	guild   = "900000000000000001"
	general = "800000000000000001"
	thread  = "700000000000000001"
	began   = int64(1_771_574_400_000) // 2026-02-20T08:00:00Z
)

func definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition(), routing.Definition(), responses.Definition()}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// names are the agents of most tests, ruda being the default one.
var names = []string{"ruda", "eden", "seum", "dajim"}

// koreanName is what people call an agent.
func koreanName(agent string) string {
	return map[string]string{"ruda": "루다", "eden": "이든", "seum": "세움", "dajim": "다짐"}[agent]
}

// setting configures a test.
type setting struct {
	channel  string   // default: discord
	agents   []string // default: names
	discord  string   // members of channels.discord, JSON
	channels string   // other members of channels, JSON
	config   string   // members of the configuration, JSON
	limits   runqueue.Limits
	stop     bool // stop words stop runs
	allowed  func(c *config.Config, from, to string) bool
	logs     io.Writer
	alter    func(*config.Config)
	log      func(*sqlite.DB) inbound.Log
	runs     func(*runqueue.Queue) inbound.Queue
	tokens   map[string]string // of the agents' bots; default: none
	bots     inbound.Bots      // default: those of agents, who see everything
}

// fixture is a log in which what is heard of Discord is decided about, with agents that run once wake was called.
type fixture struct {
	*inbound.Service
	t      testing.TB
	set    setting
	path   string
	db     *sqlite.DB
	runner *runner.Runner
	config *config.Config
	sight  *sight
	now    atomic.Int64 // ms since 1970
	ids    *atomic.Int64
	stop   func() // the worker

	mu       sync.Mutex
	answered []string // of each answer: request and message
}

// sight is what the bots know.
type sight struct {
	mu    sync.Mutex
	bots  []route.Bot
	names map[string]string // by id of a user or place
	fail  bool              // it panics

	looked func() // called with the lock; nil: not
}

func (s *sight) Sight(string, string, string) []route.Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked != nil {
		s.looked()
	}
	if s.fail {
		panic("a defect")
	}
	return slices.Clone(s.bots)
}

func (s *sight) Known(string) (collaborate.Place, bool) { return collaborate.Place{}, false }
func (s *sight) ChannelName(id string) string           { return s.names[id] }

func (s *sight) Resolve(text string) string {
	for id, name := range s.names {
		text = strings.NewReplacer("<@"+id+">", "@"+name, "<@!"+id+">", "@"+name).Replace(text)
	}
	return text
}

// blind lets the bot of an agent see, or not.
func (s *sight) blind(agent string, blind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.bots {
		if s.bots[i].Agent == agent {
			s.bots[i].Blind = blind
		}
	}
}

func (s *sight) broken(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = yes
}

func setup(t testing.TB, set setting) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	return openAt(t, path, set)
}

// openAt opens a lab at a log that is there. It is closed at the end of the test at the latest.
func openAt(t testing.TB, path string, set setting) *fixture {
	t.Helper()
	if set.agents == nil {
		set.agents = names
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	l := &fixture{t: t, set: set, path: path, db: db, config: load(t, &set), ids: &atomic.Int64{}, stop: func() {}}
	l.now.Store(began)
	t.Cleanup(l.close)
	if _, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	l.sight = &sight{names: map[string]string{general: "general", thread: "[협업] 루다 → 이든"}}
	for _, agent := range set.agents {
		l.sight.bots = append(l.sight.bots, route.Bot{UserID: userID(agent), AccountID: "acc-" + agent, Agent: agent, Name: koreanName(agent)})
		l.sight.names[userID(agent)] = cmp.Or(koreanName(agent), agent)
	}
	l.sight.names[userID("bora")] = "bora"
	l.put()
	return l
}

// put wires the parts as the program does.
func (l *fixture) put() {
	l.t.Helper()
	script, err := scripted.Read("script.json", []byte(`{"rules": [{"answer": {"text": "echo: {{message}}"}}]}`))
	if err != nil {
		l.t.Fatal(err)
	}
	logs := l.set.logs
	if logs == nil {
		logs = l.t.Output()
	}
	logger := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	models := catalogue.New(l.config, catalogue.Options{Script: script})
	inForce := func() *config.Config { return l.config }
	newID := func() string { return fmt.Sprintf("id-%s-%d", filepath.Base(l.path), unique.Add(1)) }
	ofModels := func() *catalogue.Catalogue { return models }
	queue := runqueue.New(runqueue.Options{Log: l.db, Config: inForce, Models: ofModels, Now: l.clock, NewID: newID, Limits: l.set.limits})
	l.runner = runner.New(runner.Options{
		Queue: queue, Config: inForce, Models: ofModels, Prompt: prompt.New(prompt.Options{Logger: logger}), Grace: 100 * time.Millisecond,
		Runs: runner.NewRuns(runner.RunsOptions{Log: l.db, Now: l.clock, NewID: newID, Logger: logger, Backoff: func(int) time.Duration { return time.Millisecond }}),
	})
	o := inbound.Options{Channel: l.set.channel, Log: l.db, Queue: queue, Bots: l.sight, Config: inForce, Now: l.clock, Logger: logger,
		Backoff: func(int) time.Duration { return time.Millisecond },
		Answered: func(_ eventstore.Tx, r *response.Request, answer *channel.Message, _ time.Time) ([]eventstore.StreamAppend, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.answered = append(l.answered, r.ID+" by "+answer.ID)
			return nil, nil
		}}
	o.Allowed = l.set.allowed
	if l.set.bots != nil {
		o.Bots = l.set.bots
	}
	if l.set.stop {
		o.Stop = l.runner.Stop
	}
	if l.set.log != nil {
		o.Log = l.set.log(l.db)
	}
	if l.set.runs != nil {
		o.Queue = l.set.runs(queue)
	}
	l.Service = inbound.New(o)
}

// unique counts ids over all labs, for some open the same log one after the other.
var unique atomic.Int64

func (l *fixture) clock() time.Time { return time.UnixMilli(l.now.Load()).UTC() }

func (l *fixture) after(d time.Duration) *fixture {
	l.now.Add(d.Milliseconds())
	return l
}

// wake lets agents run.
func (l *fixture) wake() {
	w := worker.New(worker.Options{Log: l.db, Handlers: map[string]worker.Handler{workqueue.KindRun: l.runner}, Now: l.clock,
		Pools:  func() map[string]int { return map[string]int{run.LaneMain: 4, run.LaneNested: 8, run.LaneSubagent: 8} },
		Logger: slog.New(slog.NewTextHandler(l.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
			l.t.Errorf("worker: %v", err)
		}
	})
}

func (l *fixture) close() {
	l.stop()
	if err := l.db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
		l.t.Error(err)
	}
}

// reopened is the lab after a restart. The one before is closed.
func (l *fixture) reopened() *fixture {
	l.t.Helper()
	l.close()
	again := openAt(l.t, l.path, l.set)
	again.now.Store(l.now.Load())
	again.ids = l.ids
	return again
}

func load(t testing.TB, set *setting) *config.Config {
	t.Helper()
	members := func(text string) string { return strings.TrimSuffix(strings.TrimSpace(text), ",") }
	var agents, accounts, bindings []string
	for i, agent := range set.agents {
		agents = append(agents, fmt.Sprintf(`{"id": %q, "name": %q, "default": %v}`, agent, cmp.Or(koreanName(agent), agent), i == 0))
		account := fmt.Sprintf(`"acc-%s": {"botUserId": "%s"}`, agent, userID(agent))
		if token := set.tokens[agent]; token != "" {
			account = fmt.Sprintf(`"acc-%s": {"token": %q}`, agent, token)
		}
		accounts = append(accounts, account)
		bindings = append(bindings, fmt.Sprintf(`{"agentId": %q, "match": {"channel": "discord", "accountId": "acc-%s"}}`, agent, agent))
	}
	inner := fmt.Sprintf(`"accounts": {%s}`, strings.Join(accounts, ", "))
	if more := members(set.discord); more != "" {
		inner += ", " + more
	}
	text := fmt.Sprintf(`{"agents": {"list": [%s]}, "bindings": [%s], "channels": {"discord": {%s}`, strings.Join(agents, ", "), strings.Join(bindings, ", "), inner)
	if more := members(set.channels); more != "" {
		text += ", " + more
	}
	text += "}"
	if more := members(set.config); more != "" {
		text += ", " + more
	}
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatalf("the test's configuration: %v\n%s", err, text)
	}
	if set.alter != nil {
		set.alter(c)
	}
	return c
}

// userID is someone's id in Discord: of an agent, that of its bot.
func userID(who string) string {
	for i, agent := range names {
		if agent == who {
			return fmt.Sprint(100000000000001001 + i)
		}
	}
	switch who {
	case "bora":
		return "200000000000002001"
	case "stranger":
		return "200000000000002002"
	case "foreign":
		return "300000000000003001"
	case "hook":
		return "300000000000003002"
	}
	var n int
	if _, err := fmt.Sscanf(who, "agent%d", &n); err == nil {
		return fmt.Sprint(400000000000000000 + n)
	}
	return ""
}

// mentions writes @name as Discord does.
func mentions(text string) string {
	for _, who := range append(slices.Clone(names), "bora", "stranger", "foreign") {
		text = strings.ReplaceAll(text, "@"+who, "<@"+userID(who)+">")
	}
	return text
}

// message is one as a bot gets it.
func (l *fixture) message(author, place, text string) channel.Inbound {
	m := channel.Message{ID: fmt.Sprint(600_000_000_000_000_000 + l.ids.Add(1)), ChannelID: place, GuildID: guild, Content: mentions(text), At: l.now.Load(),
		Author: channel.Author{User: channel.User{ID: userID(author), Name: author}}}
	if place == thread {
		m.ParentID, m.ThreadName = general, "[협업] 루다 → 이든"
	}
	switch {
	case slices.Contains(l.set.agents, author):
		m.Author.Bot, m.Author.Account, m.Author.Agent = true, "acc-"+author, author
	case author == "foreign":
		m.Author.Bot = true
	case author == "hook":
		m.Author.Bot, m.Author.Webhook = true, true
	}
	return channel.Inbound{Kind: channel.Created, AccountID: "acc-" + l.set.agents[0], BotID: userID(l.set.agents[0]), Message: m}
}

// hears has all bots tell of a message, and gives its id.
func (l *fixture) hears(in channel.Inbound) string {
	l.t.Helper()
	for _, agent := range l.set.agents {
		if in.Message.GuildID == "" && in.AccountID != "acc-"+agent {
			continue
		}
		in.AccountID, in.BotID = "acc-"+agent, userID(agent)
		l.Handle(l.t.Context(), in)
	}
	return in.Message.ID
}

// says writes something, and gives its id.
func (l *fixture) says(author, place, text string) string {
	l.t.Helper()
	return l.hears(l.message(author, place, text))
}

// events of a stream.
func (l *fixture) events(stream string) []eventstore.Event {
	l.t.Helper()
	events, err := l.db.ReadStream(l.t.Context(), stream, 0, 1_000)
	if err != nil {
		l.t.Fatal(err)
	}
	return events
}

// decided are the events of the decision about a message, without later edits and a deletion.
func (l *fixture) decided(messageID string) []eventstore.Event {
	l.t.Helper()
	return slices.DeleteFunc(l.events(coordination.MessageStream(messageID)), func(e eventstore.Event) bool {
		return e.Type == coordination.TypeDiscordInboundEdited || e.Type == coordination.TypeDiscordInboundDeleted
	})
}

// told are the events of the decision about a message.
func (l *fixture) told(messageID string) (all []coordination.DiscordInbound) {
	l.t.Helper()
	for _, e := range l.decided(messageID) {
		all = append(all, read[coordination.DiscordInbound](l.t, &e))
	}
	return all
}

// verdicts are what a message was to whom: agent=reason of handlers, mode:reason of all others.
func (l *fixture) verdicts(messageID string) string {
	l.t.Helper()
	var all []string
	for _, e := range l.decided(messageID) {
		d := read[coordination.DiscordInbound](l.t, &e)
		switch {
		case e.Type == coordination.TypeDiscordInboundHandled && d.Order != "":
			all = append(all, e.AgentID+"="+d.Reason+"/"+d.Order)
		case e.Type == coordination.TypeDiscordInboundHandled:
			all = append(all, e.AgentID+"="+d.Reason)
		default:
			all = append(all, d.Decision+":"+d.Reason)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// want fails if a message was something else to the agents.
func (l *fixture) want(messageID, want string) {
	l.t.Helper()
	words := strings.Fields(want)
	slices.Sort(words)
	if got := l.verdicts(messageID); got != strings.Join(words, " ") {
		l.t.Errorf("message %s is %q, want %q", messageID, got, want)
	}
}

// asked is what an agent was asked to run for a message; nil if it was not.
func (l *fixture) asked(messageID, agent string) *coordination.RunQueued {
	l.t.Helper()
	events := l.events(coordination.RunStream(inbound.RunID(messageID, agent)))
	if len(events) == 0 {
		return nil
	}
	q := read[coordination.RunQueued](l.t, &events[0])
	return &q
}

// runsOf are the agents that were asked to run for a message.
func (l *fixture) runsOf(messageID string) string {
	l.t.Helper()
	var all []string
	for _, agent := range l.set.agents {
		if l.asked(messageID, agent) != nil {
			all = append(all, agent)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// inPlace are the types and agents of the events of a place.
func (l *fixture) inPlace(place string) (all []string) {
	l.t.Helper()
	for _, e := range l.events(coordination.ThreadStream(place)) {
		all = append(all, strings.TrimPrefix(e.Type, "thread.")+" "+e.AgentID)
	}
	return all
}

// append puts an event into the log.
func (l *fixture) append(stream, typ, agent string, data any) {
	l.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.db.Append(l.t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: text}.WithTS(l.now.Load())}})
	if err != nil {
		l.t.Fatalf("append %s: %v", typ, err)
	}
}

// collaborates has one agent ask another one in the thread, by a message with this id; both take part.
func (l *fixture) collaborates(id, from, to string, hop int) (messageID string) {
	l.t.Helper()
	messageID = fmt.Sprint(600_000_000_000_000_000 + l.ids.Add(1))
	context := coordination.Context{WorkSessionID: "ws-1", TaskID: "task-1", Hop: &hop, EventRole: coordination.RoleOrchestration}
	l.append(coordination.CollabStream(id), coordination.TypeA2ACollaborateRequested, from, collaborate.Requested{Context: context, RequestID: id, Key: id,
		Content: id, Base: l.now.Load(), FromAgent: from, TargetAgent: to, Route: collaborate.RouteNew, ChannelID: general, GuildID: guild, Original: "부탁해"})
	effect := "collab/" + id
	l.append(coordination.WorkStream(effect), coordination.TypeThreadCreated, from, coordination.Thread{Context: observing(), ThreadID: thread, ChannelID: general,
		GuildID: guild, Kind: "collab", EffectID: effect, CollabID: id})
	l.append(coordination.CollabStream(id), coordination.TypeA2ACollaborateSent, from, collaborate.Sent{Context: context, RequestID: id, ThreadID: thread,
		ChannelID: general, GuildID: guild, FromAgent: from, FromAccount: "acc-" + from, TargetAgent: to, TargetBot: userID(to),
		MessageIDs: []string{messageID}, Original: "부탁해", SentAt: l.now.Load(), Tracked: true})
	for _, agent := range []string{from, to} {
		l.append(coordination.ThreadStream(thread), coordination.TypeThreadParticipantRegistered, agent,
			coordination.ThreadParticipant{Context: observing(), ThreadID: thread, AgentID: agent, BotUserID: userID(agent), Reason: "collaborate"})
	}
	return messageID
}

func observing() coordination.Context {
	return coordination.Context{EventRole: coordination.RoleObservability}
}

// read reads what an event says.
func read[T any](t testing.TB, e *eventstore.Event) (d T) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatalf("read %s: %v", e.Type, err)
	}
	return d
}

// buffer is a log that tests read.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) count(s string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), s)
}
