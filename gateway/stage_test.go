package gateway_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// stage is the agents of a fixture: what is asked of them is put into the log, and the test says what they do. It is there so that what clients
// see can be said to the byte; what agents really do is tried with them.
type stage struct {
	b *bundle

	mu     sync.Mutex
	tells  map[int]func(run.Update)
	asks   []run.Ask
	urgent []bool // of each ask
	stops  []run.Stop
	runs   map[string]*run.Result
	seqs   map[string]int64
	refuse error
	asked  chan string // ids of runs that were accepted
	over   chan struct{}
}

func newStage(b *bundle) *stage {
	return &stage{b: b, tells: map[int]func(run.Update){}, runs: map[string]*run.Result{}, seqs: map[string]int64{}, asked: make(chan string, 100),
		over: make(chan struct{})}
}

func (s *stage) Queue(ctx context.Context, ask run.Ask) (run.Accepted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[ask.RunID]; r != nil {
		return run.Accepted{RunID: r.RunID, SessionKey: r.SessionKey, AcceptedAt: r.QueuedAt, Again: true, Now: *r}, nil
	}
	if s.refuse != nil {
		return run.Accepted{}, s.refuse
	}
	decided, err := run.Accept(ask)
	if err != nil {
		return run.Accepted{}, err
	}
	at := s.b.now.Load()
	seq, err := s.append(ctx, ask.RunID, at, decided[0])
	if err != nil {
		return run.Accepted{}, err
	}
	s.asks, s.urgent = append(s.asks, ask), append(s.urgent, eventstore.IsUrgent(ctx))
	s.runs[ask.RunID] = &run.Result{RunID: ask.RunID, SessionKey: ask.Session.String(), SessionID: "t-1", AgentID: ask.Session.Agent,
		Cause: ask.Cause, State: run.Queued, QueuedAt: at, Seq: seq}
	s.asked <- ask.RunID
	return run.Accepted{RunID: ask.RunID, SessionKey: ask.Session.String(), AcceptedAt: at}, nil
}

func (s *stage) append(ctx context.Context, id string, at int64, decided run.Event) (int64, error) {
	data, err := json.Marshal(decided.Data)
	if err != nil {
		return 0, err
	}
	done, err := s.b.db.Append(ctx, eventstore.StreamAppend{Stream: coordination.RunStream(id), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: decided.Type, AgentID: "eden", Actor: eventstore.ActorHuman, Data: data}.WithTS(at)}})
	return done.Seq, err
}

func (s *stage) Wait(ctx context.Context, id string) (run.Result, error) {
	for {
		s.mu.Lock()
		over, r := s.over, s.runs[id]
		s.mu.Unlock()
		if r != nil && r.State.Over() {
			return *r, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			if r == nil {
				return run.Result{}, ctx.Err()
			}
			return *r, ctx.Err()
		}
	}
}

func (s *stage) Get(_ context.Context, id string) (run.Result, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		return *r, true, nil
	}
	return run.Result{}, false, nil
}

func (s *stage) Stop(_ context.Context, stop run.Stop) ([]string, error) {
	s.mu.Lock()
	s.stops = append(s.stops, stop)
	var open []string
	for _, ask := range s.asks {
		r := s.runs[ask.RunID]
		switch {
		case r.State.Over() || stop.RunID != "" && stop.RunID != r.RunID:
		case stop.RunID != "" && stop.SessionKey != r.SessionKey:
			s.mu.Unlock()
			return nil, &run.Refusal{Reason: run.CodeOtherSession, Field: "runId", Value: stop.RunID, Text: "another session's"}
		case stop.SessionKey == r.SessionKey:
			open = append(open, r.RunID)
		}
	}
	s.mu.Unlock()
	for _, id := range open {
		s.end(id, run.Aborted, coordination.RunOver{Reason: stop.Reason, Text: "so far"})
	}
	return open, nil
}

func (s *stage) Follow(tell func(run.Update)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.tells)
	s.tells[n] = tell
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tells, n)
	}
}

// does tells what a run does.
func (s *stage) does(id string, u run.Update) {
	s.mu.Lock()
	r := *s.runs[id]
	s.seqs[id]++
	u.RunID, u.SessionKey, u.SessionID, u.AgentID, u.Cause, u.Seq, u.At = id, r.SessionKey, r.SessionID, r.AgentID, r.Cause, s.seqs[id], s.b.now.Load()
	tells := make([]func(run.Update), 0, len(s.tells))
	for _, tell := range s.tells {
		tells = append(tells, tell)
	}
	s.mu.Unlock()
	for _, tell := range tells {
		tell(u)
	}
}

func (s *stage) begin(id string) {
	s.mu.Lock()
	r := s.runs[id]
	r.State, r.StartedAt = run.Running, s.b.now.Load()
	started := *r
	s.mu.Unlock()
	s.does(id, run.Update{Kind: run.Started, Result: &started})
}

func (s *stage) end(id string, state run.State, over coordination.RunOver) {
	s.mu.Lock()
	r := s.runs[id]
	r.State, r.EndedAt, r.Over = state, s.b.now.Load(), &over
	ended := *r
	close(s.over)
	s.over = make(chan struct{})
	s.mu.Unlock()
	s.does(id, run.Update{Kind: run.Ended, Result: &ended})
}

// ask is the newest thing that was asked for.
func (s *stage) ask() run.Ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks[len(s.asks)-1]
}

// staged is a gateway whose agents do what the test says, and that serves.
func staged(t *testing.T) (b *bundle, agents *stage, url string) {
	t.Helper()
	b = setup(t)
	agents = newStage(b)
	b.runs = agents
	b.reopen(t)
	return b, agents, b.serve(t)
}

// heard is a client that keeps the events of some names, as text.
type heard struct {
	*client.Client
	events chan client.Event
}

func listen(t *testing.T, url string, opts client.Options, names ...string) *heard {
	t.Helper()
	h := &heard{events: make(chan client.Event, 1_000)}
	opts.Event = func(e client.Event) {
		for _, name := range names {
			if e.Name == name {
				h.events <- e
			}
		}
	}
	h.Client = dial(t, url, opts)
	return h
}

// next is what is told next.
func (h *heard) next(t *testing.T) client.Event {
	t.Helper()
	select {
	case e := <-h.events:
		return e
	case <-time.After(testscale.Patience):
		t.Fatal("nothing is told")
		return client.Event{}
	}
}

// expect compares what is told next to the byte.
func (h *heard) expect(t *testing.T, wanted ...string) {
	t.Helper()
	for _, one := range wanted {
		if e := h.next(t); e.Name+" "+string(e.Payload) != one {
			t.Fatalf("\ngot  %s %s\nwant %s", e.Name, e.Payload, one)
		}
	}
}

// silence checks that nothing more was told: what was sent before an answer comes before it.
func (h *heard) silence(t *testing.T) {
	t.Helper()
	over[any](t, h.Client, "health", nil)
	select {
	case e := <-h.events:
		t.Errorf("told %s %s", e.Name, e.Payload)
	default:
	}
}

// queued are the runs that lie in the log.
func (b *bundle) queued(t *testing.T) (list []run.Result) {
	t.Helper()
	b.view(t, func(ctx context.Context, tx *sql.Tx) (err error) {
		list, err = runs.List(ctx, tx, runs.Query{})
		return err
	})
	return list
}

// waits has a run accepted that waits in a session.
func (b *bundle) waits(t testing.TB, key, id string) {
	t.Helper()
	session, err := coordination.ParseSessionKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ask := run.Ask{Session: session, RunQueued: coordination.RunQueued{RunID: id, Message: "x", Cause: "chat"}}
	if _, err := b.runs.Queue(context.Background(), ask); err != nil {
		t.Fatal(err)
	}
}
