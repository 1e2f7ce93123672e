package runner_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
var crashRounds = testscale.Of(3, 40)

// What the crash scenario asks for in each log.
const (
	crashMessages = 50
	crashSessions = 10

	crashToolTakes = 50 * time.Millisecond
)

// 50 messages wait in 10 sessions, and the process is killed again and again. Each message is accepted once and has exactly one end, in the
// order of its session; only what had started is reported as broken off; it goes on at its last step, or is repeated if its cause wants that, before what came later;
// models are asked again only with the key of the same step; transcripts hold what was said, once; and what follows from an end is there once,
// with it, unless the run was asked for once more.
//
// Promise: run-once
func TestCrashWhileAnswering(t *testing.T) {
	t.Parallel()
	var dir string
	seen := map[string]bool{} // logs in which nothing is left to be done
	brokenOff, repeated, inTools := 0, 0, 0
	check := func(t testing.TB, path string, acked []string, whole bool) {
		told := checkCrashLog(t, path, acked, whole)
		if seen[path] = whole; !whole {
			return
		}
		for _, r := range told.order {
			if r.end == coordination.TypeRunAborted {
				brokenOff++
			}
			if r.again != nil {
				repeated++
			}
			if r.calls > r.results {
				inTools++
			}
		}
	}
	s := answering
	s.Check = func(t testing.TB, d string, acked []string) {
		dir = d
		files := crashLogs(t, dir)
		for i, path := range files {
			if !seen[path] {
				check(t, path, acked, i < len(files)-1)
			}
		}
	}
	storetest.Crash(t, s, crashRounds)

	path := crashLog(dir, max(len(crashLogs(t, dir)), 1))
	if err := answerAll(t.Context(), path, func(string) {}); err != nil {
		t.Fatal(err)
	}
	check(t, path, nil, true)
	t.Logf("%d logs; %d runs were broken off, %d of them while a tool was under way; %d were repeated", len(seen), brokenOff, inTools, repeated)
	if len(seen) > 20 && (repeated == 0 || repeated == brokenOff) { // it is no chance any more
		t.Error("some of the runs that are broken off should be repeated, some not")
	}
	if len(seen) > 20 && inTools == 0 {
		t.Error("no tool was broken off")
	}
}

// answering queues messages and answers them, in one log after the other.
var answering = storetest.Scenario{
	Name: "runner",
	Work: func(c *storetest.Child) error {
		files, err := filepath.Glob(filepath.Join(c.Dir, "log-*.db"))
		if err != nil {
			return err
		}
		for n := max(len(files), 1); ; n++ {
			path := crashLog(c.Dir, n)
			err := answerAll(context.Background(), path, func(text string) { c.Ack(filepath.Base(path) + " " + text) })
			if err != nil {
				return err
			}
		}
	},
}

func crashLog(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("log-%03d.db", n)) }

func crashLogs(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "log-*.db"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// crashAsk is the n-th message of a log. Every third is repeated when it is broken off; every fifth needs a tool, which takes its time, so
// that most of the time one is under way.
func crashAsk(n int) run.Ask {
	key := coordination.MainKey([]string{"eden", "seum"}[n%2])
	key.ID = fmt.Sprint("s", n%crashSessions)
	a := run.Ask{Session: key, Human: true, RunQueued: coordination.RunQueued{RunID: fmt.Sprintf("m-%02d", n), Cause: "agent", Message: fmt.Sprintf("message %02d", n)}}
	if n%3 == 0 {
		a.OnRestart = run.OnRestartRetry
	}
	if n%5 == 0 {
		a.Message += " with a tool"
	}
	return a
}

// answerAll queues what was not queued yet, and answers until nothing is left. It acknowledges what was accepted, and what ended how.
func answerAll(ctx context.Context, path string, ack func(string)) (err error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := projections.Start(ctx, db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		return err
	}
	models, err := startModels(path + ".calls")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, models.stop()) }()
	c, err := crashConfig(path+".json", models.url)
	if err != nil {
		return err
	}
	transport := openai.NewTransport()
	defer transport.CloseIdleConnections()
	cat := catalogue.New(c, catalogue.Options{Transport: transport})
	quiet := slog.New(slog.DiscardHandler)
	inForce, ofModels := func() *config.Config { return c }, func() *catalogue.Catalogue { return cat }
	r := runner.New(runner.Options{
		Queue: runqueue.New(runqueue.Options{Log: db, Config: inForce, Models: ofModels, Now: time.Now, NewID: uuid.NewString}),
		Runs: runner.NewRuns(runner.RunsOptions{Log: db, Now: time.Now, NewID: uuid.NewString, Logger: quiet,
			Then: func(_ eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) { return follows(e), nil }}),
		Config: inForce, Models: ofModels, Prompt: prompt.New(prompt.Options{Logger: quiet}), Tools: box{"look": lookForLong},
	})
	stop := r.Follow(func(u run.Update) {
		if u.Kind == run.Ended {
			ack("ended " + u.RunID + " " + string(u.Result.State))
		}
	})
	defer stop()
	for n := range crashMessages {
		accepted, err := r.Queue(ctx, crashAsk(n))
		if err != nil {
			return err
		}
		ack("accepted " + accepted.RunID)
	}
	w := worker.New(worker.Options{
		Log: db, Handlers: map[string]worker.Handler{workqueue.KindRun: r}, Pools: func() map[string]int { return map[string]int{run.LaneMain: 4} }, Logger: quiet,
	})
	working, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	err = untilNoneIsOpen(ctx, db)
	end()
	return errors.Join(err, <-ended)
}

// lookForLong is a tool that takes its time.
func lookForLong(ctx context.Context, _ tool.Caller, _ json.RawMessage) (tool.Output, error) {
	select {
	case <-time.After(crashToolTakes):
		return tool.Output{Text: "seen"}, nil
	case <-ctx.Done():
		return tool.Output{}, ctx.Err()
	}
}

// untilNoneIsOpen waits until every run is over.
func untilNoneIsOpen(ctx context.Context, db *sqlite.DB) error {
	for {
		head, err := db.Head(ctx)
		if err != nil {
			return err
		}
		var counts map[run.State]int64
		err = db.View(ctx, func(tx *sql.Tx) (err error) {
			counts, err = runs.Count(ctx, tx)
			return err
		})
		if err != nil || counts[run.Queued]+counts[run.Running] == 0 {
			return err
		}
		if _, err := db.Wait(ctx, head.Seq+1); err != nil {
			return err
		}
	}
}

func crashConfig(path, url string) (*config.Config, error) {
	text := `{models: {providers: {fake: {baseUrl: '` + url + `/v1', apiKey: 'sk-fake', api: 'openai-completions', models: [{id: 'echo-1', contextWindow: 128000}]}}},
 agents: {defaults: {model: 'fake/echo-1'}, list: [{id: 'eden', default: true}, {id: 'seum'}]}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	c, findings := config.Load(path, func(string) string { return "" })
	return c, findings.Err()
}

// models is an endpoint that answers with what it is asked, and writes down each call before it answers: "<key> <what it is asked>".
type models struct {
	url    string
	server *http.Server
	served chan error

	mu    sync.Mutex
	calls *os.File
}

func startModels(path string) (*models, error) {
	calls, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, calls.Close())
	}
	m := &models{url: "http://" + listener.Addr().String(), served: make(chan error, 1), calls: calls}
	m.server = &http.Server{Handler: m}
	go func() { m.served <- m.server.Serve(listener) }()
	return m, nil
}

func (m *models) stop() error {
	err := m.server.Close()
	if served := <-m.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, m.calls.Close())
}

func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &asked) != nil || len(asked.Messages) == 0 {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	var text string
	for _, message := range asked.Messages {
		if message.Role == "user" && json.Unmarshal(message.Content, &text) != nil {
			http.Error(w, "this model reads texts alone", http.StatusBadRequest)
			return
		}
	}
	last := asked.Messages[len(asked.Messages)-1].Role
	m.mu.Lock()
	_, err = fmt.Fprintf(m.calls, "%s %s %s\n", r.Header.Get("Idempotency-Key"), last, text)
	m.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	frames := []string{
		`{"choices":[{"index":0,"delta":{"content":"echo: "}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":"stop"}]}`,
	}
	if strings.HasSuffix(text, "tool") && last == "user" {
		frames = []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call-1","type":"function","function":{"name":"look","arguments":"{}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		}
	}
	for _, frame := range append(frames, "[DONE]") {
		if _, err := io.WriteString(w, "data: "+frame+"\n\n"); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

// checkCrashLog looks at what a log tells. acked are the acknowledgements of all logs; whole: nothing is left to be done in it.
func checkCrashLog(t testing.TB, path string, acked []string, whole bool) *story {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	engine, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Verify(t.Context(), false, nil); err != nil {
		t.Fatalf("verify what the kill has left: %v", err)
	}
	told := story{runs: map[string]*toldRun{}, busy: map[string]*toldRun{}, place: map[string]int{}}
	err = db.View(t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), "SELECT type, data FROM events WHERE type LIKE 'run.%' OR type IN ('session.message', ?) ORDER BY seq", typeFollows)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var typ string
			var data []byte
			if err := rows.Scan(&typ, &data); err != nil {
				return err
			}
			if err := told.add(typ, data); err != nil {
				return fmt.Errorf("%s %s: %w", typ, data, err)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	for _, fault := range told.faults(whole) {
		t.Errorf("%s: %s", filepath.Base(path), fault)
	}
	calls, err := os.ReadFile(path + ".calls")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, fault := range told.wrongCalls(string(calls)) {
		t.Errorf("%s: %s", filepath.Base(path), fault)
	}
	for _, ack := range acked {
		if words := strings.Fields(ack); words[0] == filepath.Base(path) && !told.holds(words[1:]) {
			t.Errorf("acknowledged %q is not so", ack)
		}
	}
	if !whole {
		left := projectiontest.Dump(t, db, definitions()...)
		if err := engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(projectiontest.Dump(t, db, definitions()...), left); diff != "" {
			t.Errorf("%s: tables differ from rebuilt ones (-rebuilt +left):\n%.4000s", filepath.Base(path), diff)
		}
	}
	return &told
}

// toldRun is what a log tells of a run.
type toldRun struct {
	asked   coordination.RunQueued
	started bool
	end     string // type of the event that ended it
	over    coordination.RunOver
	again   *toldRun // that repeats it

	users, answers int // messages of the transcript: what was asked, and what the run has said at its end
	calls, results int // likewise: what asks for the tool, and what that says

	followed int // how often something has followed from its end
}

// hasSteps reports whether the run, or one that it goes on from, has added a step to its transcript.
func (r *toldRun) hasSteps() bool { return r.calls > 0 || r.asked.Resume }

// mayGoOn reports whether the run is queued again when it is broken off.
func (r *toldRun) mayGoOn() bool {
	return run.MayRetry(&r.asked) || r.hasSteps() && run.MayResume(&r.asked, r.calls > 0)
}

// root is the id of the run that was asked for at first.
func (r *toldRun) root() string { return run.RootOf(r.asked.RunID, r.asked.RetryOf) }

// story is what a log tells of runs, as far as it was read.
type story struct {
	runs  map[string]*toldRun
	order []*toldRun
	busy  map[string]*toldRun // by session: the one that runs
	place map[string]int      // by session: where the one that began last, or the one that it repeats, was asked for
}

// add goes on by an event, which may not contradict what was told before.
func (s *story) add(typ string, data []byte) error {
	if typ == coordination.TypeSessionMessage {
		var m coordination.SessionMessage
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		return s.said(&m)
	}
	if typ == typeFollows {
		var f told
		if err := json.Unmarshal(data, &f); err != nil {
			return err
		}
		return s.follows(&f)
	}
	if typ == coordination.TypeRunQueued {
		r := &toldRun{}
		if err := json.Unmarshal(data, &r.asked); err != nil {
			return err
		}
		return s.queued(r)
	}
	var over coordination.RunOver // it has the members of run.started that matter
	if err := json.Unmarshal(data, &over); err != nil {
		return err
	}
	r := s.runs[over.RunID]
	switch {
	case r == nil:
		return errors.New("no one has asked for it")
	case r.end != "":
		return errors.New("it has ended before, with " + r.end)
	case typ == coordination.TypeRunStarted:
		return s.started(r)
	case typ == coordination.TypeRunAborted && (over.Reason != "restart" || !r.started):
		return errors.New("only a restart breaks runs off, and only those that have started")
	case typ != coordination.TypeRunAborted && typ != coordination.TypeRunEnded:
		return errors.New("no run fails")
	}
	r.end, r.over = typ, over
	delete(s.busy, r.asked.SessionKey)
	return nil
}

func (s *story) queued(r *toldRun) error {
	if s.runs[r.asked.RunID] != nil {
		return errors.New("it was asked for before")
	}
	s.runs[r.asked.RunID] = r
	s.order = append(s.order, r)
	if r.asked.RetryOf == "" {
		return nil
	}
	broken := s.runs[r.asked.RetryOf]
	for broken != nil && broken.again != nil {
		broken = broken.again
	}
	switch {
	case broken == nil || broken.end != coordination.TypeRunAborted:
		return errors.New("it repeats what was not broken off")
	case r.asked.Resume != broken.hasSteps():
		return fmt.Errorf("it goes on: %v, but the one before has %d steps", r.asked.Resume, broken.calls)
	case !r.asked.Resume && broken.asked.OnRestart != run.OnRestartRetry:
		return errors.New("it is not to be repeated")
	}
	broken.again = r
	return nil
}

func (s *story) follows(f *told) error {
	r := s.runs[f.RunID]
	if r == nil || r.end == "" {
		return errors.New("it follows from no end")
	}
	if to, _ := run.Next(run.Running, r.end); to != f.State || f.Root != r.root() || f.Message != r.asked.Message || f.Text != r.over.Text {
		return errors.New("it was told of something else")
	}
	r.followed++
	return nil
}

func (s *story) started(r *toldRun) error {
	key := r.asked.SessionKey
	var n int
	if _, err := fmt.Sscanf(r.root(), "m-%d", &n); err != nil {
		return err
	}
	switch before, any := s.place[key]; {
	case r.started:
		return errors.New("it has started before")
	case s.busy[key] != nil:
		return errors.New("run " + s.busy[key].asked.RunID + " of the session is under way")
	case any && (n < before || n == before && r.asked.RetryOf == ""):
		return fmt.Errorf("it comes after message %d", before)
	}
	r.started, s.busy[key], s.place[key] = true, r, n
	return nil
}

func (s *story) said(m *coordination.SessionMessage) error {
	r := s.runs[m.RunID]
	switch {
	case r == nil:
		return errors.New("it is of no run")
	case m.Author == "user" && m.Text == r.asked.Message:
		r.users++
	case m.Author == "assistant" && m.Text == "echo: "+r.asked.Message:
		r.answers++
	case m.Author == "assistant" && m.StopReason == "toolUse":
		r.calls++
	case m.Author == "tool":
		r.results++
	case m.Author == "user", m.Author == "assistant":
		return errors.New("no one has said that")
	}
	return nil
}

// faults are what does not fit together in the end.
func (s *story) faults(whole bool) (faults []string) {
	fault := func(r *toldRun, format string, args ...any) {
		faults = append(faults, "run "+r.asked.RunID+": "+fmt.Sprintf(format, args...))
	}
	if whole && len(s.order) < crashMessages {
		faults = append(faults, fmt.Sprintf("%d runs for %d messages", len(s.order), crashMessages))
	}
	started := map[string]bool{} // messages, by the run that was asked for at first
	for _, r := range s.order {
		ok := r.end == coordination.TypeRunEnded
		first := r.started && !started[r.root()] // its message stands there once, however often it was started to answer it
		started[r.root()] = started[r.root()] || r.started
		switch want := first; {
		case whole && r.end == "":
			fault(r, "it has no end")
		case want != (r.users == 1) || r.users > 1:
			fault(r, "started for the first time: %v, but its message is %d times in the transcript", want, r.users)
		case ok != (r.answers == 1) || r.answers > 1:
			fault(r, "%s, but its answer is %d times in the transcript", r.end, r.answers)
		case ok && r.over.Text != "echo: "+r.asked.Message:
			fault(r, "it has said %q", r.over.Text)
		case r.followed > 1 || (r.followed == 1) != (r.end != "" && r.again == nil):
			fault(r, "ended with %q, repeated: %v, and something has followed from it %d times", r.end, r.again != nil, r.followed)
		case r.asked.Resume && r.calls > 0:
			fault(r, "it goes on from a step, but has asked for the tool again")
		case r.end == coordination.TypeRunAborted && (r.again != nil) != r.mayGoOn():
			fault(r, "broken off, wants %q, repeated: %v", r.asked.OnRestart, r.again != nil)
		}
	}
	return faults
}

// wrongCalls are those that no run should have made. A step of a run has one key, also when the run is repeated; it is used again only
// then.
func (s *story) wrongCalls(calls string) (faults []string) {
	asked, tries := map[string]string{}, map[string]int{}
	for _, r := range s.order {
		if r.started {
			tries[r.root()]++
		}
	}
	times := map[string]int{}
	for line := range strings.Lines(calls) {
		key, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		root, step, _ := strings.Cut(key, ":")
		r := s.runs[root]
		want := map[string]string{"1": "user", "2": "tool"}[step]
		if r == nil || want == "" || what != want+" "+r.asked.Message {
			faults = append(faults, fmt.Sprintf("call %s asks for %q", key, what))
			continue
		}
		if times[key]++; asked[key] != "" && asked[key] != what || times[key] > tries[root] {
			faults = append(faults, fmt.Sprintf("call %s was made %d times, the run has started %d times", key, times[key], tries[root]))
		}
		asked[key] = what
	}
	for _, r := range s.order {
		steps := []string{":1", ":2"}
		if !strings.HasSuffix(r.asked.Message, "tool") {
			steps = steps[:1]
		}
		for _, step := range steps {
			if r.end == coordination.TypeRunEnded && times[r.root()+step] == 0 {
				faults = append(faults, "run "+r.asked.RunID+" has ended, but no model was asked for "+r.root()+step)
			}
		}
	}
	return faults
}

// holds says whether an acknowledgement is so.
func (s *story) holds(ack []string) bool {
	r := s.runs[ack[1]]
	switch {
	case r == nil:
		return false
	case ack[0] == "accepted":
		return true
	}
	return r.end == map[string]string{"ok": coordination.TypeRunEnded, "aborted": coordination.TypeRunAborted}[ack[2]]
}
