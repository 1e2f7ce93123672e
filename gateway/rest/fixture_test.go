package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway/rest"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a long enough secret"

var began = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// fakeRuns answers as the test says: it stands where the runs of agents are, which are in a room that wires do not know.
type fakeRuns struct {
	work    func(j *job)          // does a run, on a goroutine of its own; it has to end it
	refuse  func(a run.Ask) error // may be nil
	stopped chan run.Stop         // what was asked to be stopped
	jobs    sync.WaitGroup

	mu      sync.Mutex
	byID    map[string]*job
	asks    []run.Ask
	tells   map[int]func(run.Update)
	follows int // subscriptions so far
	most    int // of them at once
}

// job is a run.
type job struct {
	runs   *fakeRuns
	ask    run.Ask
	ctx    context.Context // ends when it is stopped
	stop   func()
	over   chan struct{}
	result run.Result
	seq    int64
	text   string
}

func newFakeRuns(work func(j *job)) *fakeRuns {
	return &fakeRuns{work: work, stopped: make(chan run.Stop, 100), byID: map[string]*job{}, tells: map[int]func(run.Update){}}
}

func (o *fakeRuns) Queue(ctx context.Context, a run.Ask) (run.Accepted, error) {
	if _, err := run.Accept(a); err != nil {
		return run.Accepted{}, err
	}
	if o.refuse != nil {
		if err := o.refuse(a); err != nil {
			return run.Accepted{}, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asks = append(o.asks, a)
	if j := o.byID[a.RunID]; j != nil {
		return run.Accepted{RunID: a.RunID, SessionKey: j.ask.SessionKey, Again: true}, ctx.Err()
	}
	j := &job{runs: o, ask: a, over: make(chan struct{})}
	j.ctx, j.stop = context.WithCancel(context.Background())
	o.byID[a.RunID] = j
	o.jobs.Go(func() { o.work(j) })
	return run.Accepted{RunID: a.RunID, SessionKey: a.SessionKey}, nil
}

func (o *fakeRuns) Wait(ctx context.Context, runID string) (run.Result, error) {
	o.mu.Lock()
	j := o.byID[runID]
	o.mu.Unlock()
	if j == nil {
		return run.Result{}, errors.New("unknown run")
	}
	select {
	case <-j.over:
		return j.result, nil
	case <-ctx.Done():
		return run.Result{}, ctx.Err()
	}
}

func (o *fakeRuns) Stop(_ context.Context, s run.Stop) ([]string, error) {
	o.mu.Lock()
	j := o.byID[s.RunID]
	o.mu.Unlock()
	j.stop()
	<-j.over
	o.stopped <- s
	return []string{s.RunID}, nil
}

func (o *fakeRuns) Follow(tell func(run.Update)) func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := o.follows
	o.follows++
	o.tells[id] = tell
	o.most = max(o.most, len(o.tells))
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.tells, id)
	}
}

func (o *fakeRuns) asked() []run.Ask {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]run.Ask{}, o.asks...)
}

// say continues the answer; restart starts another one.
func (j *job) say(delta string, restart bool) {
	if restart {
		j.text = ""
	}
	j.text += delta
	j.tell(run.Update{Kind: run.Text, Text: j.text, Delta: delta, Replaces: restart})
}

func (j *job) tell(u run.Update) {
	j.seq++
	u.RunID, u.SessionKey, u.Seq = j.ask.RunID, j.ask.SessionKey, j.seq
	j.runs.mu.Lock()
	defer j.runs.mu.Unlock()
	for _, tell := range j.runs.tells {
		tell(u)
	}
}

func (j *job) end(state run.State, over coordination.RunOver) {
	j.result = run.Result{RunID: j.ask.RunID, SessionKey: j.ask.SessionKey, State: state, Over: &over}
	j.tell(run.Update{Kind: run.Ended, Result: &j.result})
	close(j.over)
}

// echo is the work of an agent that says again what it is told.
func echo(j *job) {
	j.say("echo: ", false)
	j.say(j.ask.Message, false)
	j.end(run.OK, coordination.RunOver{Text: j.text, StopReason: "stop", Usage: &coordination.SessionUsage{Input: 7, Output: 3, Total: 10}})
}

// gate is a gateway with these endpoints.
type gate struct {
	url  string
	stop func() // ends the gateway, not its port
}

type setup struct {
	runs   rest.Runs
	tools  tool.Box
	off    bool // OpenAI's endpoints are
	change func(*rest.Options)
	wire   func(*wire.Options)
	server func(*http.Server)
}

func serve(t testing.TB, s setup) *gate {
	t.Helper()
	opts := rest.Options{Runs: s.runs, Tools: s.tools, Offers: func(string) bool { return !s.off }, Now: func() time.Time { return began },
		Agent: func(id string) (string, error) {
			switch id {
			case "", "main":
				return "main", nil
			case "eden":
				return "eden", nil
			}
			return "", errors.New(`unknown agent id "` + id + `"`)
		},
		Session: func(agent, key string) (coordination.SessionKey, error) {
			if agent == "" {
				agent = "main"
			}
			return coordination.SessionKeyOf(key, agent)
		},
		Agents:  func() []string { return []string{"main", "eden"} },
		AgentOf: func(k coordination.SessionKey) string { return k.Agent }, NewID: uuid.NewString, Logger: slog.New(slog.DiscardHandler)}
	if s.change != nil {
		s.change(&opts)
	}
	w := wire.Options{Access: wire.Access{Mode: "token", Token: token}, Now: time.Now, NewID: uuid.NewString, Logger: opts.Logger,
		Posts: rest.New(opts).Post, Gets: rest.New(opts).Get}
	if s.wire != nil {
		s.wire(&w)
	}
	hub := wire.New(noMethods{}, w)
	server := httptest.NewUnstartedServer(hub.Handler())
	if s.server != nil {
		s.server(server.Config)
	}
	server.Start()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	g := &gate{url: server.URL, stop: sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(func() {
		g.stop()
		server.Close()
		if o, ok := s.runs.(*fakeRuns); ok {
			o.jobs.Wait()
		}
	})
	return g
}

// noMethods refuses requests over WebSocket.
type noMethods struct{}

func (noMethods) Answer(context.Context, *wire.Call) (any, error)              { return nil, nil }
func (noMethods) Knows(string) bool                                            { return false }
func (noMethods) Names() (methods, events []string)                            { return nil, nil }
func (noMethods) Snapshot(context.Context) (snapshot wire.Snapshot, err error) { return }

// client has connections of its own, so that none is left when a test ends.
func client(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// begin posts a text, and returns when the answer has started. Headers are pairs.
func (g *gate) begin(ctx context.Context, t testing.TB, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// post posts a text and reads all of the answer.
func (g *gate) post(t testing.TB, path, body string, headers ...string) (int, string) {
	t.Helper()
	answer := g.begin(t.Context(), t, path, body, headers...)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSuffix(string(text), "\n")
}

// event is one of a stream: data with its name, or a comment.
type event struct{ name, data, comment string }

// events reads a stream.
type events struct {
	t       testing.TB
	scanner *bufio.Scanner
}

func read(t testing.TB, answer *http.Response) *events {
	t.Helper()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "text/event-stream; charset=utf-8" {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("%d %s %s", answer.StatusCode, kind, text)
	}
	scanner := bufio.NewScanner(answer.Body)
	scanner.Buffer(nil, 64<<20)
	return &events{t, scanner}
}

// next is the next event; ok is false at the end.
func (e *events) next() (one event, ok bool) {
	for e.scanner.Scan() {
		line := e.scanner.Text()
		switch {
		case line == "":
			return one, true
		case strings.HasPrefix(line, "data: "):
			one.data += line[len("data: "):]
		case strings.HasPrefix(line, "event: "):
			one.name = line[len("event: "):]
		case strings.HasPrefix(line, ":"):
			one.comment = line
		default:
			e.t.Fatalf("a line %q", line)
		}
	}
	return one, false
}

// all are the events up to the end, without comments.
func (e *events) all() (all []event) {
	for {
		one, ok := e.next()
		if !ok {
			return all
		}
		if one.comment == "" {
			all = append(all, one)
		}
	}
}

// decoded is JSON that must be right.
func decoded[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}
