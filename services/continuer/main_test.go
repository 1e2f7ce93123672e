package continuer_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/tools/a2atest"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(path string) (*sqlite.DB, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}

// emptyLog is the file of a log with the tables of a team with continuation.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) { return openStore(path) },
	slices.Concat(a2atest.Definitions(), a2atest.Keeping())...))

// begin is when the clock of most tests stands still at first.
var begin = time.UnixMilli(1_790_000_000_000)

// crew is a team with continuation and a fixed clock.
type crew struct {
	*a2atest.Team
	t testing.TB
}

// configuration has a lead.
const configuration = `{"agents": {"list": [{"id": "main", "default": true, "role": "lead", "model": "test/main"},
	{"id": "eden", "model": "test/eden"}, {"id": "seum", "model": "test/seum"}, {"id": "ruda", "model": "test/ruda"}]}}`

// setup makes a crew. main is the lead; eden, seum and ruda work. change may make another setting of it.
func setup(t testing.TB, answer func(a2atest.Asked) a2atest.Answer, change ...func(*a2atest.Setting)) *crew {
	t.Helper()
	set := a2atest.Setting{
		Open:  func(path string) (a2atest.Store, error) { return openStore(path) },
		Empty: emptyLog, Agents: []string{"main", "eden", "seum", "ruda"}, Answer: answer, KeepGoing: true, Begin: begin,
		Config: configuration,
		Then:   func(team *a2atest.Team) []tasktools.Then { return []tasktools.Then{tasktools.NotifyOwners(team.Queue)} },
	}
	for _, c := range change {
		c(&set)
	}
	return &crew{a2atest.New(t, set), t}
}

// byHand leaves all checks to the test.
func byHand(s *a2atest.Setting) { s.ByHand = true }

func (c *crew) reopened() *crew { c.t.Helper(); return &crew{c.Reopen(), c.t} }
func (c *crew) crashed() *crew  { c.t.Helper(); return &crew{c.Crash(), c.t} }

// starts begins a task, and gives its id.
func (c *crew) starts(agent, description string, steps ...string) (taskID string) {
	c.t.Helper()
	list := []map[string]string{}
	for _, content := range steps {
		list = append(list, map[string]string{"content": content})
	}
	return c.does(agent, "task_start", map[string]any{"description": description, "steps": list, "simple": len(steps) == 0})
}

// does calls a tool of tasks in the name of an agent, and gives the id of the task.
func (c *crew) does(agent, name string, args map[string]any) (taskID string) {
	c.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	out := c.Use(agent, name, string(text))
	var answer struct {
		TaskID  string `json:"taskId"`
		Success bool   `json:"success"`
	}
	if err := json.Unmarshal([]byte(out.Text), &answer); err != nil || !answer.Success {
		c.t.Fatalf("%s %s: %s", name, text, out.Text)
	}
	return answer.TaskID
}

// looks checks once and returns the time until time alone changes something; 0 for never.
func (c *crew) looks() (wait time.Duration) {
	c.t.Helper()
	next, err := c.Continuer.Check(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	if next.IsZero() {
		return 0
	}
	return next.Sub(c.Clock.Now())
}

// quiet waits until no run and no flow is under way.
func (c *crew) quiet() {
	c.t.Helper()
	c.Await("the end of all runs and flows", func(ctx context.Context, tx *sql.Tx) (bool, error) {
		for _, kind := range []string{workqueue.KindRun, workqueue.KindJob} {
			left, err := workqueue.List(ctx, tx, workqueue.Query{Kind: kind, Limit: 1})
			if len(left) > 0 || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// after sets the clock forward, and has done all that follows.
func (c *crew) after(d time.Duration) (wait time.Duration) {
	c.t.Helper()
	c.Advance(d)
	return c.settles()
}

// settles checks and waits for the end of what it requests, until nothing is due. It returns the time until time alone changes
// something; 0 for never.
func (c *crew) settles() (wait time.Duration) {
	c.t.Helper()
	for before := int64(-1); before != c.head(); {
		before = c.head()
		wait = c.looks()
		c.quiet()
	}
	return wait
}

// rests checks, and fails unless nothing is due about an agent, for the reason, with the next check after that time; 0 for never.
func (c *crew) rests(agent string, reason continuation.Reason, wait time.Duration) {
	c.t.Helper()
	before := c.head()
	c.looks()
	if now := c.head(); now != before {
		c.t.Fatalf("something was done: %v", c.since(before))
	}
	e := c.explains(agent)
	if e.Kind != continuation.Nothing || e.Reason != reason {
		c.t.Fatalf("%s, %s; want nothing, %s\n%s", e.Kind, e.Reason, reason, e.Text)
	}
	got := time.Duration(0)
	if e.LookAgainAt > 0 {
		got = time.UnixMilli(e.LookAgainAt).Sub(c.Clock.Now())
	}
	if got != wait {
		c.t.Fatalf("%s is checked again after %s, want %s\n%s", agent, got, wait, e.Text)
	}
}

func (c *crew) explains(agent string) (e continuation.Explained) {
	c.t.Helper()
	err := c.Log.View(c.t.Context(), func(tx *sql.Tx) (err error) {
		var ok bool
		e, ok, err = continuer.Explain(c.t.Context(), tx, c.InForce(), agent, c.Clock.Now(), time.Time{})
		if !ok && err == nil {
			err = fmt.Errorf("%s has no tasks", agent)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

func (c *crew) head() int64 {
	c.t.Helper()
	head, err := c.Log.Head(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return head.Seq
}

// since are the types of the events after a place in the log.
func (c *crew) since(seq int64) (types []string) {
	c.t.Helper()
	for _, e := range c.Events() {
		if e.Seq > seq {
			types = append(types, e.Type)
		}
	}
	return types
}

// own are the events with which agents are kept going, each with its agent.
func (c *crew) own() (list []eventstore.Event) {
	c.t.Helper()
	return c.Events("continuation.", "resume_reminder.", "unblock.", "zombie.", "backlog.")
}

// prompts are the runs that were asked for to keep agents going, the first one first.
func (c *crew) prompts(agent string) (list []run.Result) {
	c.t.Helper()
	for _, r := range c.Runs() {
		if r.Cause == "continuation" && (agent == "" || r.AgentID == agent) {
			list = append(list, r)
		}
	}
	return list
}

// reasons are those of the prompts that an agent was sent.
func (c *crew) reasons(agent string) (list []string) {
	c.t.Helper()
	for _, e := range c.Events(coordination.TypeContinuationSent, coordination.TypeResumeReminderSent) {
		if e.AgentID == agent {
			list = append(list, a2atest.Decoded[coordination.Continuation](c.t, &e).Reason)
		}
	}
	return list
}

func (c *crew) state(agent string) (s continuation.State) {
	c.t.Helper()
	err := c.Log.View(c.t.Context(), func(tx *sql.Tx) (err error) {
		s, err = continuations.Load(projections.Reading(c.t.Context(), tx), agent)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *crew) task(id string) (row *tasks.Row) {
	c.t.Helper()
	err := c.Log.View(c.t.Context(), func(tx *sql.Tx) (err error) {
		row, _, err = tasks.ByID(c.t.Context(), tx, id)
		return err
	})
	if err != nil || row == nil {
		c.t.Fatalf("task %s: %v", id, err)
	}
	return row
}

// script answers for models: each answer once, and then the last one for ever.
type script struct {
	mu      sync.Mutex
	answers map[string][]a2atest.Answer // by agent
	heard   map[string][]string         // prompts, by agent
}

func says(answers map[string][]a2atest.Answer) *script {
	s := &script{answers: map[string][]a2atest.Answer{}, heard: map[string][]string{}}
	maps.Copy(s.answers, answers)
	return s
}

func (s *script) answer(a a2atest.Asked) a2atest.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !a.AfterTool() {
		s.heard[a.Agent] = append(s.heard[a.Agent], a.Message())
	}
	list := s.answers[a.Agent]
	if len(list) == 0 {
		return a2atest.Say("I have looked at it.")
	}
	if len(list) > 1 {
		s.answers[a.Agent] = list[1:]
	}
	return list[0]
}

// of are the prompts that an agent's model has heard.
func (s *script) of(agent string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard[agent])
}

// will has an agent's model answer so from now on.
func (s *script) will(agent string, answers ...a2atest.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[agent] = answers
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// wants waits until something is so: it looks after each commit.
func (c *crew) wants(what string, is func() bool) {
	c.t.Helper()
	c.Await(what, func(context.Context, *sql.Tx) (bool, error) { return is(), nil })
}

// over lays another configuration over that of the crew.
func (c *crew) over(more string) {
	c.t.Helper()
	var usual, own map[string]any
	for text, into := range map[string]*map[string]any{configuration: &usual, more: &own} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			c.t.Fatal(err)
		}
	}
	for name, value := range own {
		usual[name] = value
	}
	text, err := json.Marshal(usual)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Configure(string(text))
}

// pairs is a configuration in which one agent may not write to another.
func pairs(from, to string) string {
	return fmt.Sprintf(`{"tools": {"agentToAgent": {"enabled": true, "pairs": [{"from": %q, "to": %q, "allow": false}]}}}`, from, to)
}

// minutesAfter is how many minutes after the beginning something has happened.
func minutesAfter(e *eventstore.Event) string {
	return fmt.Sprint((e.TS - begin.UnixMilli()) / 60_000)
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// quietly tells warnings to the test's own output.
func quietly(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func newID() string { return uuid.NewString() }

// sendPolicy says whether the main session of an agent takes messages: allow or deny.
func (c *crew) sendPolicy(agent, policy string) {
	c.t.Helper()
	_, err := c.Log.Decide(c.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		state, _, err := sessions.Load(tx, coordination.MainKey(agent))
		if err != nil {
			return nil, err
		}
		decided, err := session.Patch(state, session.PatchCommand{Command: session.Command{By: "test", NewID: newID()},
			Values: map[string]json.RawMessage{"sendPolicy": json.RawMessage(`"` + policy + `"`)}}, func(string) (string, error) { return "", nil })
		if err != nil {
			return nil, err
		}
		return sessions.Append(state, eventstore.ActorHuman, c.Clock.Now().UnixMilli(), decided)
	})
	if err != nil {
		c.t.Fatal(err)
	}
}
