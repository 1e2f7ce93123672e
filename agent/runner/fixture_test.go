package runner_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// patience is how long a test waits for what has to come; it is never waited for in vain.
const patience = testscale.Patience

func definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition()}
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// setting is what a test has of its own.
type setting struct {
	script  string // rules of the scripted provider; "" is echo
	config  string // JSON5; "" is none
	tools   tool.Box
	limits  runner.Limits
	room    runqueue.Limits
	lanes   map[string]int // default: main 4, nested 8, subagent 8
	backoff func(int) time.Duration
	idle    time.Duration // how long an endpoint may be silent
	drain   time.Duration
	pages   int64         // that the file may have
	asleep  bool          // no worker yet
	grace   time.Duration // default: 100 ms
	then    func(*fixture, eventstore.Tx, *runner.EndedRun) ([]eventstore.StreamAppend, error)
	wanted  func(eventstore.Tx, *coordination.RunQueued) (bool, error)
	logs    io.Writer // in place of the test's own

	durability sqlite.Durability // default: relaxed
}

// echo says again what was said.
const echo = `{"when": {"after": "any"}, "answer": {"text": "echo: {{message}}"}}`

// fixture is a log with agents that answer in it.
type fixture struct {
	*runner.Runner
	asks *runqueue.Queue
	t    testing.TB
	db   *sqlite.DB
	path string
	set  setting

	heard *heard
	log   *counted
	stop  func() // the worker

	taken eventstore.ID // of an event that is in the log
	room  atomic.Bool   // on the disk
}

func setup(t testing.TB, set setting) *fixture {
	t.Helper()
	file, err := emptyLog()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return openAt(t, path, set)
}

// openAt opens a house that is closed at the end of the test at the latest.
func openAt(t testing.TB, path string, set setting) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: cmp.Or(set.durability, sqlite.DurabilityRelaxed), MaxPages: set.pages})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	h := &fixture{log: &counted{DB: db, refused: make(chan error, 8)}, t: t, db: db, path: path, set: set, heard: newHeard(), stop: func() {}}
	c := load(t, set.config)
	transport := openai.NewTransport()
	rules := set.script
	if rules == "" {
		rules = echo
	}
	script, err := scripted.Read("script.json", []byte(`{"rules": [`+rules+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	models := catalogue.New(c, catalogue.Options{Script: script, Transport: transport, OpenAI: openai.Options{First: set.idle, Idle: set.idle}})
	if set.backoff == nil {
		set.backoff = func(int) time.Duration { return time.Millisecond }
	}
	if set.logs == nil {
		set.logs = t.Output()
	}
	log := slog.New(slog.NewTextHandler(set.logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var then func(eventstore.Tx, *runner.EndedRun) ([]eventstore.StreamAppend, error)
	if set.then != nil {
		then = func(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
			return set.then(h, tx, e)
		}
	}
	ofModels := func() *catalogue.Catalogue { return models }
	inForce := func() *config.Config { return c }
	newID := func() string { return fmt.Sprintf("id-%d-%d", os.Getpid(), unique.Add(1)) }
	h.asks = runqueue.New(runqueue.Options{Log: h.log, Config: inForce, Models: ofModels, Now: time.Now, NewID: newID, Limits: set.room})
	h.Runner = runner.New(runner.Options{
		Queue: h.asks, Config: inForce, Models: ofModels, Tools: set.tools, Prompt: prompt.New(prompt.Options{Logger: log}), Limits: set.limits,
		Runs:  runner.NewRuns(runner.RunsOptions{Log: h.log, Now: time.Now, NewID: newID, Logger: log, Then: then, Backoff: set.backoff}),
		Grace: cmp.Or(set.grace, 100*time.Millisecond), Wanted: set.wanted,
	})
	unfollow := h.Follow(h.heard.hear)
	if !set.asleep {
		h.wake()
	}
	t.Cleanup(func() {
		unfollow()
		h.close()
		transport.CloseIdleConnections()
	})
	return h
}

// counted is a log that counts its transactions and the rows that they read, and tells of those that it does not take.
type counted struct {
	*sqlite.DB
	decided atomic.Int64
	written atomic.Int64 // of these, those that appended events
	rows    atomic.Int64
	refused chan error // holds the first few that no one has read
}

func (c *counted) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	c.decided.Add(1)
	result, err := c.DB.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return decide(countedTx{tx, &c.rows}) })
	if err == nil && len(result.Events) > 0 {
		c.written.Add(1)
	}
	if err != nil {
		select {
		case c.refused <- err:
		default:
		}
	}
	return result, err
}

type countedTx struct {
	eventstore.Tx
	rows *atomic.Int64
}

func (c countedTx) Query(query string, args []any, scan func(eventstore.Row) error) error {
	return c.Tx.Query(query, args, func(r eventstore.Row) error {
		c.rows.Add(1)
		return scan(r)
	})
}

// refused waits until the log has not taken something.
func (h *fixture) refused() {
	h.t.Helper()
	select {
	case <-h.log.refused:
	case <-time.After(patience):
		h.t.Fatal("the log takes everything")
	}
}

// unique counts ids over all houses, for some open the same log one after the other.
var unique atomic.Int64

// wake lets the worker begin.
func (h *fixture) wake() {
	lanes := h.set.lanes
	if lanes == nil {
		lanes = map[string]int{run.LaneMain: 4, run.LaneNested: 8, run.LaneSubagent: 8}
	}
	w := worker.New(worker.Options{Log: h.log, Handlers: map[string]worker.Handler{workqueue.KindRun: h.Runner}, Now: time.Now, Drain: h.set.drain,
		Pools: func() map[string]int { return lanes }, Logger: slog.New(slog.NewTextHandler(h.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
			h.t.Errorf("worker: %v", err)
		}
	})
}

func (h *fixture) close() {
	h.stop()
	if err := h.db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
		h.t.Error(err)
	}
}

func load(t testing.TB, text string) *config.Config {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func key(t testing.TB, text string) coordination.SessionKey {
	t.Helper()
	k, err := coordination.ParseSessionKey("agent:eden:" + text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ask is a message to a session of agent eden's.
func ask(t testing.TB, id, session, message string) run.Ask {
	return run.Ask{Session: key(t, session), RunQueued: coordination.RunQueued{RunID: id, Cause: "chat", Message: message}}
}

// queue has a message accepted.
func (h *fixture) queue(a run.Ask) run.Accepted {
	h.t.Helper()
	accepted, err := h.Queue(h.t.Context(), a)
	if err != nil {
		h.t.Fatalf("queue %s: %v", a.RunID, err)
	}
	return accepted
}

// say has a message accepted.
func (h *fixture) say(id, session, message string) run.Accepted {
	h.t.Helper()
	return h.queue(ask(h.t, id, session, message))
}

// over waits for the end of a run.
func (h *fixture) over(id string) run.Result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	result, err := h.Wait(ctx, id)
	if err != nil {
		h.t.Fatalf("wait for %s: %v (%+v)", id, err, result)
	}
	return result
}

// ends checks how a run has ended.
func (h *fixture) ends(id string, state run.State, text string) run.Result {
	h.t.Helper()
	result := h.over(id)
	if result.State != state || result.Over == nil || result.Over.Text != text {
		h.t.Fatalf("%s: got %s %+v, want %s %q", id, result.State, result.Over, state, text)
	}
	return result
}

func (h *fixture) halt(stop run.Stop) []string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	ids, err := h.Stop(ctx, stop)
	if err != nil {
		h.t.Fatalf("stop %+v: %v", stop, err)
	}
	return ids
}

// transcript is what was said in a session, a line for each message.
func (h *fixture) transcript(name string) (lines []string) {
	h.t.Helper()
	err := h.db.View(h.t.Context(), func(tx *sql.Tx) error {
		s, err := sessions.ByKey(h.t.Context(), tx, key(h.t, name).String())
		if err != nil || s == nil {
			return err
		}
		messages, err := sessions.Newest(h.t.Context(), tx, s.ID, 10_000, 64<<20)
		for _, m := range messages {
			line := m.Data.Author + ": " + m.Data.Text
			if m.Data.StopReason != "" {
				line += " (" + m.Data.StopReason + ")"
			}
			if m.Data.IsError {
				line += " (error)"
			}
			lines = append(lines, line)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return lines
}

// events are the types of what happened to a run.
func (h *fixture) events(id string) (types []string) {
	h.t.Helper()
	events, err := h.db.ReadStream(h.t.Context(), coordination.RunStream(id), 0, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range events {
		types = append(types, strings.TrimPrefix(e.Type, "run."))
	}
	return types
}

// idle waits until no run is active: the end of a run is stored before it leaves the table of active ones.
func (h *fixture) idle() {
	h.t.Helper()
	for late := time.Now().Add(testscale.Patience); h.Stats().Running > 0; runtime.Gosched() {
		if time.Now().After(late) {
			h.t.Fatalf("runs are still active: %+v", h.Stats())
		}
	}
}

// checkSettled sees that every run has exactly one end, and that nothing is left to do.
func (h *fixture) checkSettled() {
	h.t.Helper()
	events, err := h.db.Read(h.t.Context(), 0, 100_000)
	if err != nil {
		h.t.Fatal(err)
	}
	ends, asked := map[string]int{}, map[string]bool{}
	for _, e := range events {
		var d struct {
			RunID string `json:"runId"`
		}
		if !strings.HasPrefix(e.Type, "run.") || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		switch e.Type {
		case coordination.TypeRunQueued:
			asked[d.RunID] = true
		case coordination.TypeRunStarted:
		default:
			ends[d.RunID]++
		}
	}
	for id := range asked {
		if ends[id] != 1 {
			h.t.Errorf("run %s has %d ends", id, ends[id])
		}
	}
	err = h.db.View(h.t.Context(), func(tx *sql.Tx) error {
		items, err := workqueue.List(h.t.Context(), tx, workqueue.Query{Limit: 10})
		if len(items) > 0 {
			h.t.Errorf("still to do: %+v", items)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// heard is what a subscriber is told.
type heard struct {
	mu      sync.Mutex
	all     map[string][]run.Update
	changed chan struct{} // closed with every update
}

func newHeard() *heard { return &heard{all: map[string][]run.Update{}, changed: make(chan struct{})} }

func (h *heard) hear(u run.Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[u.RunID] = append(h.all[u.RunID], u)
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *heard) of(id string) ([]run.Update, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]run.Update(nil), h.all[id]...), h.changed
}

// until waits until a run tells something.
func (h *fixture) until(id string, is func(run.Update) bool) run.Update {
	h.t.Helper()
	late := time.After(patience)
	for {
		updates, changed := h.heard.of(id)
		for _, u := range updates {
			if is(u) {
				return u
			}
		}
		select {
		case <-changed:
		case <-late:
			h.t.Fatalf("%s tells only %+v", id, updates)
		}
	}
}

func says(text string) func(run.Update) bool {
	return func(u run.Update) bool { return u.Kind == run.Text && u.Text == text }
}

func is(kind run.Kind) func(run.Update) bool {
	return func(u run.Update) bool { return u.Kind == kind }
}

// told is all that a run tells, until its end, a line for each; it checks what holds for all.
func (h *fixture) told(id string) (lines []string) {
	h.t.Helper()
	h.until(id, is(run.Ended))
	updates, _ := h.heard.of(id)
	for i, u := range updates {
		if u.Seq != int64(i+1) || u.RunID != id || u.SessionKey == "" || u.AgentID != "eden" || u.At == 0 {
			h.t.Errorf("update %d of %s is %+v", i, id, u)
		}
		line := string(u.Kind)
		switch u.Kind {
		case run.Text:
			line += " " + u.Text
			if u.Replaces {
				line += " (again)"
			}
		case run.ToolStart:
			line += " " + u.ToolName + " " + string(u.Args)
		case run.ToolResult:
			line += " " + u.Output
		case run.Ended:
			line += " " + string(u.Result.State)
		}
		lines = append(lines, line)
	}
	return lines
}

// box is a set of tools of a test's own.
type box map[string]func(ctx context.Context, c tool.Caller, args json.RawMessage) (tool.Output, error)

func (b box) Offer(tool.Caller) (specs []tool.Spec) {
	for _, name := range []string{"look", "wait"} {
		if b[name] != nil {
			specs = append(specs, tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
	return specs
}

func (b box) Call(ctx context.Context, c tool.Caller, name string, args json.RawMessage) (tool.Output, error) {
	if b[name] == nil {
		return tool.Output{}, &tool.Error{Code: tool.CodeUnknown, Tool: name, Text: "there is no tool " + name, Hint: "Call one that there is"}
	}
	return b[name](ctx, c, args)
}

func text(s string) func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
	return func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
		return tool.Output{Text: s}, nil
	}
}

// patch sets something for a session.
func (h *fixture) patch(name, values string) {
	h.t.Helper()
	k := key(h.t, name)
	_, err := h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, _, err := sessions.Load(tx, k)
		if err != nil {
			return nil, err
		}
		c := session.PatchCommand{Command: session.Command{NewID: fmt.Sprint("t-", unique.Add(1))}}
		if err := json.Unmarshal([]byte(values), &c.Values); err != nil {
			return nil, err
		}
		decided, err := session.Patch(s, c, func(label string) (string, error) { return sessions.LabelHolder(tx, label) })
		if err != nil {
			return nil, err
		}
		return sessions.Append(s, eventstore.ActorHuman, time.Now().UnixMilli(), decided)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) session(name string) (s *sessions.Session) {
	h.t.Helper()
	err := h.db.View(h.t.Context(), func(tx *sql.Tx) (err error) {
		s, err = sessions.ByKey(h.t.Context(), tx, key(h.t, name).String())
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// limit bounds the file to so many pages; 1 is as many as it has.
func (h *fixture) limit(pages int) {
	err := h.db.Exclusive(context.Background(), func(tx eventstore.Tx) error {
		return tx.Query(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, func(eventstore.Row) error { return nil })
	}, nil)
	if err != nil {
		h.t.Errorf("limit: %v", err)
	}
}

// list is all runs.
func (h *fixture) list() (list []run.Result) {
	h.t.Helper()
	err := h.db.View(h.t.Context(), func(tx *sql.Tx) (err error) {
		list, err = runs.List(h.t.Context(), tx, runs.Query{Limit: 1_000})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// begin begins a run that waits, as the worker does.
func (h *fixture) begin(id string) (item workqueue.Item) {
	h.t.Helper()
	_, err := h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		waits, found, err := workqueue.Load(tx, "run/"+id)
		if err != nil || !found {
			return nil, errors.Join(err, fmt.Errorf("no work for %s: %v", id, found))
		}
		item = waits
		return h.Begin(tx, item, time.Now())
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return item
}

// refuse gives up a run that waits, as the worker does with what would not begin.
func (h *fixture) refuse(id string, why error) {
	h.t.Helper()
	_, err := h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		item, found, err := workqueue.Load(tx, "run/"+id)
		if err != nil || !found {
			return nil, errors.Join(err, fmt.Errorf("no work for %s: %v", id, found))
		}
		return h.Refused(tx, item, why, time.Now())
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// lose takes a run away from its worker, as the worker itself does when its lease is over.
func (h *fixture) lose(id string) {
	h.t.Helper()
	_, err := h.db.Decide(h.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		item, found, err := workqueue.Load(tx, "run/"+id)
		if err != nil || !found {
			return nil, errors.Join(err, fmt.Errorf("no work for %s: %v", id, found))
		}
		return h.Lost(tx, item, worker.LostLease, time.Now())
	})
	if err != nil {
		h.t.Fatal(err)
	}
}
