package gateway_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const fixtureToken = "fixture-token-for-tests-1"

// fixtureConfig has two models, one of which thinks, and three agents.
const fixtureConfig = `{
  // said by the operator
  gateway: {auth: {mode: 'token', token: '` + fixtureToken + `'}},
  models: {mode: 'replace', providers: {fake: {baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'fixture-key', api: 'openai-completions', models: [
    {id: 'echo-1', name: 'Echo One', reasoning: false, input: ['text'], contextWindow: 128000, maxTokens: 8192},
    {id: 'echo-2', name: 'Echo Two', reasoning: true, input: ['text'], contextWindow: 64000, maxTokens: 4096},
  ]}}},
  agents: {
    defaults: {model: {primary: 'fake/echo-1'}},
    list: [{id: 'main', default: true}, {id: 'eden', name: 'Eden', identity: {name: 'Eden', emoji: '🌿'}}, {id: 'seum', name: 'Seum'}],
  },
}
`

// began is what the clock of a fixture shows at first.
var began = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// bundle is a gateway on a real database. Questions come from the client that peer and protocol describe.
type bundle struct {
	db            *sqlite.DB
	database      string // its file
	server        *gateway.Server
	configuration *configuration
	logs          *programLog
	runs          gateway.Runs  // nil: no agents
	posts         gateway.Posts // nil: nothing goes out
	media         gateway.Media // nil: no files
	bots          func() []health.Bot
	approvals     gateway.Approvals // nil: another gateway decides
	reads         *budget.Budget    // nil: what answers hold together has no bound
	now           atomic.Int64      // ms; what the gateway's clock shows

	peer     protocol.Client
	protocol int
}

// setup makes a gateway with fixtureConfig on an empty log. The clock stands when it began.
func setup(t testing.TB, change ...func(*sqlite.Options)) *bundle {
	t.Helper()
	dir := t.TempDir()
	b := &bundle{database: filepath.Join(dir, "log.db"), logs: &programLog{}, protocol: 3,
		peer: protocol.Client{ID: "cli", Mode: "cli", Version: "test", Platform: "linux", InstanceID: "i1"}}
	b.now.Store(began.UnixMilli())
	b.configuration = &configuration{path: filepath.Join(dir, "openclaw.json")}
	b.configure(t, fixtureConfig)
	storetest.Copy(t, emptyLog, b.database)
	b.open(t, change...)
	return b
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

func definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition(), permissions.Definition(), plans.Definition()}
}

// open opens the database, and has a new gateway on it.
func (b *bundle) open(t testing.TB, change ...func(*sqlite.Options)) {
	t.Helper()
	ctx := context.Background()
	opts := sqlite.Options{Path: b.database, Durability: sqlite.DurabilityRelaxed, Now: func() time.Time { return time.UnixMilli(b.now.Load()) }}
	for _, c := range change {
		c(&opts)
	}
	db, err := sqlite.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := projections.Start(ctx, db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	b.db, b.configuration.log = db, db
	b.server = gateway.New(gateway.Options{
		Log: db, Configuration: b.configuration, Logs: b.logs, Access: wire.Access{Mode: "token", Token: fixtureToken},
		Now: func() time.Time { return time.UnixMilli(b.now.Load()) }, NewID: uuid.NewString, Logger: slog.New(slog.DiscardHandler),
		Version: "test", StateDir: filepath.Dir(b.database), Database: b.database, StartedAt: began,
		Runs: b.runs, Posts: b.posts, Media: b.media, Bots: b.bots, Approvals: b.approvals, Reads: b.reads, ReadWait: 10 * time.Millisecond, Workspace: func(agentID string) string { return "/of/" + agentID },
		Transcripts: sessions.NewCache(1<<20, db.Mark),
	})
}

// reopen closes everything and opens it again, as a restart does.
func (b *bundle) reopen(t testing.TB) {
	t.Helper()
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	b.open(t)
}

// tick moves the clock.
func (b *bundle) tick(d time.Duration) { b.now.Add(d.Milliseconds()) }

// configure writes the configuration again and brings it into force.
func (b *bundle) configure(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(b.configuration.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(b.configuration.path, noVariables)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	b.configuration.inForce.Store(c)
}

func noVariables(string) string { return "" }

// as is the client that asks.
func (b *bundle) as() *wire.Peer {
	return &wire.Peer{ConnID: "c1", Protocol: b.protocol, Client: b.peer, Role: "operator", Scopes: []string{"operator.admin"}}
}

// call asks as the wire does: parameters that are wrong reach no method.
func (b *bundle) call(method, params string) (json.RawMessage, *protocol.Error) {
	params = string(protocol.Canonical(method, json.RawMessage(params)))
	if wrong := protocol.Check(method, json.RawMessage(params)); wrong != nil {
		return nil, wrong
	}
	payload, err := b.server.Answer(context.Background(), &wire.Call{Peer: b.as(), ID: "1", Method: method, Params: json.RawMessage(params),
		Interim: func(any) {}})
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: err.Error()}
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: err.Error()}
	}
	return body, nil
}

// answer asks what must be answered.
func (b *bundle) answer(t testing.TB, method, params string) json.RawMessage {
	t.Helper()
	body, refused := b.call(method, params)
	if refused != nil {
		t.Fatalf("%s %.300s: %s %s", method, params, refused.Code, refused.Message)
	}
	return body
}

// refused asks what must be refused.
func (b *bundle) refused(t testing.TB, method, params string) *protocol.Error {
	t.Helper()
	body, refused := b.call(method, params)
	if refused == nil {
		t.Fatalf("%s %.300s: answered %.300s", method, params, body)
	}
	return refused
}

// want asks what must be answered, with a T.
func want[T any](t testing.TB, b *bundle, method, params string) (into T) {
	t.Helper()
	body := b.answer(t, method, params)
	if err := json.Unmarshal(body, &into); err != nil {
		t.Fatalf("%s %.300s: %v in %.300s", method, params, err, body)
	}
	return into
}

type patched struct {
	OK        bool
	Path, Key string
	Entry     entry
	Resolved  struct{ ModelProvider, Model string }
}

type entry struct {
	SessionID                                                string
	UpdatedAt                                                int64
	Label, ThinkingLevel, VerboseLevel, ReasoningLevel       string
	SendPolicy, ResponseUsage, SpawnedBy                     string
	SpawnDepth                                               int
	ModelOverride, ProviderOverride, Model, ModelProvider    string
	InputTokens, OutputTokens, TotalTokens                   *int64
	TotalTokensFresh                                         *bool
	ElevatedLevel, ExecHost, ExecSecurity, ExecAsk, ExecNode string
	GroupActivation                                          string
}

// patch asks sessions.patch, which must be answered.
func (b *bundle) patch(t testing.TB, params string) patched {
	t.Helper()
	return want[patched](t, b, "sessions.patch", params)
}

// say appends messages to the session of a whole key, as an agent that runs would. The members of each are given without braces.
func (b *bundle) say(t testing.TB, key string, messages ...string) {
	t.Helper()
	k, err := coordination.ParseSessionKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a := eventstore.StreamAppend{Stream: coordination.SessionStream(k)}
	for _, members := range messages {
		data := fmt.Appendf(nil, `{"eventRole":"system.observability","sessionKey":%q,%s}`, k.String(), members)
		a.Events = append(a.Events, eventstore.NewEvent{Type: coordination.TypeSessionMessage, AgentID: k.Agent, Actor: eventstore.ActorAgent,
			Data: data}.WithTS(b.now.Load()))
	}
	if _, err := b.db.Append(context.Background(), a); err != nil {
		t.Fatal(err)
	}
}

// numbered makes many of one: its %d is a number from 0.
func numbered(many int, one string) []string {
	all := make([]string, many)
	for i := range all {
		all[i] = fmt.Sprintf(one, i)
	}
	return all
}

// events are those that lie in a stream.
func (b *bundle) events(t testing.TB, stream string) []eventstore.Event {
	t.Helper()
	events, err := b.db.ReadStream(context.Background(), stream, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// view reads the database.
func (b *bundle) view(t testing.TB, read func(context.Context, *sql.Tx) error) {
	t.Helper()
	ctx := context.Background()
	if err := b.db.View(ctx, func(tx *sql.Tx) error { return read(ctx, tx) }); err != nil {
		t.Fatal(err)
	}
}

// serve lets clients in until the test ends.
func (b *bundle) serve(t testing.TB) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Run(ctx) }()
	s := httptest.NewServer(b.server.Handler())
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

// dial connects a client, which may do everything, until the test ends.
func dial(t testing.TB, url string, opts client.Options) *client.Client {
	t.Helper()
	opts.Token = fixtureToken
	c, err := client.Dial(context.Background(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// configuration is a file of a fixture.
type configuration struct {
	path    string
	inForce atomic.Pointer[config.Config]
	log     eventstore.Appender
}

func (c *configuration) InForce() *config.Config { return c.inForce.Load() }

func (c *configuration) Document() (*config.Document, error) {
	return config.ReadDocument(c.path, noVariables), nil
}

func (c *configuration) Write(ctx context.Context, next *config.Document, what coordination.ConfigPatched) ([]string, error) {
	data, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	if err := next.Write(data); err != nil {
		return nil, err
	}
	_, err = c.log.Append(ctx, eventstore.StreamAppend{Stream: coordination.ConfigPatchStream,
		Events: []eventstore.NewEvent{{Type: coordination.TypeConfigPatched, Actor: eventstore.ActorHuman, Data: data}}})
	if err != nil {
		return nil, err
	}
	c.inForce.Store(next.Config())
	return nil, config.Settle(c.path)
}

// programLog is the log of a program that has said what the test sets.
type programLog struct{ tail gateway.LogTail }

func (l *programLog) Tail(int64, int, int) gateway.LogTail { return l.tail }
