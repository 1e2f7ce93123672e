package a2atest

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// Caller is the main session of an agent, as used by a command-line client.
func Caller(agent string) tool.Caller {
	return tool.Caller{Entry: tool.ByCLI, AgentID: agent, SessionKey: coordination.MainKey(agent).String(), By: "test"}
}

// Message is a request from one agent to another's main session that does not wait for the answer and has neither replies nor an
// announcement. change may adjust it.
func (team *Team) Message(from, to, text string, change ...func(*messenger.Request)) messenger.Request {
	r := messenger.Request{From: Caller(from), Origin: "cli", Target: coordination.MainKey(to), Message: text, NoTurns: true, NoAnnounce: true}
	for _, c := range change {
		c(&r)
	}
	return r
}

// MustSend sends a message and fails the test on an error. A refusal is in the result.
func (team *Team) MustSend(from, to, text string, change ...func(*messenger.Request)) messenger.Result {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), Patience)
	defer cancel()
	result, err := team.Send(ctx, team.Message(from, to, text, change...))
	if err != nil {
		team.t.Fatalf("send from %s to %s: %v", from, to, err)
	}
	return result
}

// Use calls a tool as an agent's main session.
func (team *Team) Use(agent, name, args string) tool.Output {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), Patience)
	defer cancel()
	out, err := team.Tools.Call(ctx, Caller(agent), name, json.RawMessage(args))
	if err != nil {
		team.t.Fatalf("%s %s: %v", name, args, err)
	}
	return out
}

// SayTo sends a person's message to an agent's main session and returns the run id.
func (team *Team) SayTo(agent, text string) (runID string) {
	team.t.Helper()
	key := coordination.MainKey(agent)
	ask := run.Ask{Session: key, Human: true, RunQueued: coordination.RunQueued{RunID: "tell-" + agent + "-" + text, SessionKey: key.String(), Cause: "chat",
		Message: text, OnRestart: run.OnRestartRetry}}
	accepted, err := team.Runner.Queue(team.t.Context(), ask)
	if err != nil {
		team.t.Fatalf("tell %s: %v", agent, err)
	}
	return accepted.RunID
}

// Ended waits for the end of a run and returns it.
func (team *Team) Ended(runID string) run.Result {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), Patience)
	defer cancel()
	result, err := team.Runner.Wait(ctx, runID)
	if err != nil {
		team.t.Fatalf("wait for run %s: %v (%+v)", runID, err, result)
	}
	return result
}

// Over waits for the end of a flow and returns it.
func (team *Team) Over(jobID string) flows.Row {
	team.t.Helper()
	return team.Until(jobID, func(r *flows.Row) bool { return r.Phase == a2a.Over })
}

// Until waits until a flow meets a condition and returns it.
func (team *Team) Until(jobID string, is func(*flows.Row) bool) (row flows.Row) {
	team.t.Helper()
	team.Await("flow "+jobID, func(ctx context.Context, tx *sql.Tx) (ok bool, err error) {
		var found bool
		row, found, err = flows.ByID(ctx, tx, jobID)
		return found && is(&row), err
	})
	return row
}

// Await waits until a condition on the log holds; it is checked after each commit.
func (team *Team) Await(what string, is func(ctx context.Context, tx *sql.Tx) (bool, error)) {
	team.t.Helper()
	ctx, cancel := context.WithTimeout(team.t.Context(), Patience)
	defer cancel()
	for {
		head, err := team.Log.Head(ctx)
		var ok bool
		if err == nil {
			err = team.Log.View(ctx, func(tx *sql.Tx) (err error) {
				ok, err = is(ctx, tx)
				return err
			})
		}
		if err == nil && ok {
			return
		}
		if err == nil {
			_, err = team.Log.Wait(ctx, head.Seq+1)
		}
		if err != nil {
			team.t.Fatalf("wait for %s: %v\n%s", what, err, strings.Join(team.Types(), "\n"))
		}
	}
}

// Flow returns the current state of a flow.
func (team *Team) Flow(jobID string) (row flows.Row) {
	team.t.Helper()
	err := team.Log.View(team.t.Context(), func(tx *sql.Tx) (err error) {
		row, _, err = flows.ByID(team.t.Context(), tx, jobID)
		return err
	})
	if err != nil {
		team.t.Fatal(err)
	}
	return row
}

// Flows returns all flows, oldest first.
func (team *Team) Flows() (list []flows.Row) {
	team.t.Helper()
	err := team.Log.View(team.t.Context(), func(tx *sql.Tx) (err error) {
		list, err = flows.List(team.t.Context(), tx, flows.Query{})
		return err
	})
	if err != nil {
		team.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// Runs returns all runs, oldest first.
func (team *Team) Runs() (list []run.Result) {
	team.t.Helper()
	err := team.Log.View(team.t.Context(), func(tx *sql.Tx) (err error) {
		list, err = runs.List(team.t.Context(), tx, runs.Query{})
		return err
	})
	if err != nil {
		team.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

const page = 1_000

// Events returns the events of the given types, or all without any, in log order. A type that ends with a dot is a prefix.
func (team *Team) Events(types ...string) (list []eventstore.Event) {
	team.t.Helper()
	for _, e := range team.all() {
		if len(types) == 0 || slices.ContainsFunc(types, func(typ string) bool {
			return typ == e.Type || strings.HasSuffix(typ, ".") && strings.HasPrefix(e.Type, typ)
		}) {
			list = append(list, e)
		}
	}
	return list
}

func (team *Team) all() (list []eventstore.Event) {
	team.t.Helper()
	for after := int64(0); ; after = list[len(list)-1].Seq {
		some, err := team.Log.Read(context.WithoutCancel(team.t.Context()), after, page)
		if err != nil {
			team.t.Fatal(err)
		}
		list = append(list, some...)
		if len(some) < page {
			return list
		}
	}
}

// Types returns the types of all A2A and run events, in log order.
func (team *Team) Types() (list []string) {
	team.t.Helper()
	for _, e := range team.Events("a2a.", "run.") {
		list = append(list, e.Type)
	}
	return list
}

// Data returns the data of the events of a type, of one flow if one is named.
func Data[T any](team *Team, typ, jobID string) (list []T) {
	team.t.Helper()
	for _, e := range team.Events(typ) {
		if jobID == "" || JobOf(team.t, &e) == jobID {
			list = append(list, Decoded[T](team.t, &e))
		}
	}
	return list
}

// Decoded returns the data of an event.
func Decoded[T any](t testing.TB, e *eventstore.Event) (data T) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatalf("%s: %v", e.Data, err)
	}
	return data
}

// JobOf returns the id of the flow that an event is about, "" for none.
func JobOf(t testing.TB, e *eventstore.Event) string {
	t.Helper()
	return Decoded[struct {
		JobID string `json:"jobId"`
	}](t, e).JobID
}

// CheckSettled waits until every flow is over and checks the invariants that hold whatever has failed: one a2a.job.created and one end
// per job; per send or spawn exactly one a2a.send, then at least one a2a.response, then exactly one a2a.complete; increasing turns; one
// end per run; no work left.
func (team *Team) CheckSettled() {
	team.t.Helper()
	team.Await("the end of all flows and runs", func(ctx context.Context, tx *sql.Tx) (bool, error) {
		for _, kind := range []string{workqueue.KindJob, workqueue.KindRun} {
			left, err := workqueue.List(ctx, tx, workqueue.Query{Kind: kind, Limit: 1})
			if len(left) > 0 || err != nil {
				return false, err
			}
		}
		return true, nil
	})
	team.CheckFlows()
}

// CheckFlows checks the invariants of CheckSettled for the flows that are over.
func (team *Team) CheckFlows() {
	team.t.Helper()
	histories := map[string][]eventstore.Event{}
	for _, e := range team.Events("a2a.") {
		if id := JobOf(team.t, &e); id != "" {
			histories[id] = append(histories[id], e)
		}
	}
	for _, f := range team.Flows() {
		if f.Phase == a2a.Over {
			checkHistory(team.t, f.JobID, histories[f.JobID])
		}
	}
	ends := map[string]int{}
	for _, e := range team.Events("run.") {
		data := Decoded[struct {
			RunID string `json:"runId"`
		}](team.t, &e)
		switch e.Type {
		case coordination.TypeRunQueued:
			if _, twice := ends[data.RunID]; twice {
				team.t.Errorf("run %s was requested twice", data.RunID)
			}
			ends[data.RunID] += 0
		case coordination.TypeRunStarted:
		default:
			if ends[data.RunID]++; ends[data.RunID] > 1 {
				team.t.Errorf("run %s has more than one end", data.RunID)
			}
		}
	}
}

func checkHistory(t testing.TB, jobID string, events []eventstore.Event) {
	t.Helper()
	counts, lastTurn := map[string]int{}, -1
	order := ""
	for i := range events {
		e := &events[i]
		counts[e.Type]++
		switch e.Type {
		case coordination.TypeA2ASend:
			order += "s"
		case coordination.TypeA2AResponse:
			order += "r"
			data := Decoded[coordination.A2AResponse](t, e)
			if data.Turn <= lastTurn {
				t.Errorf("flow %s: turn %d follows turn %d", jobID, data.Turn, lastTurn)
			}
			lastTurn = data.Turn
		case coordination.TypeA2AComplete:
			order += "c"
		}
	}
	if rest, ok := strings.CutPrefix(order, "s"); !ok || len(rest) < 2 || strings.TrimLeft(rest, "r") != "c" {
		t.Errorf("flow %s says %q, want one send (s), responses (r), one complete (c)", jobID, order)
	}
	ends := counts[coordination.TypeA2AJobCompleted] + counts[coordination.TypeA2AJobFailed] + counts[coordination.TypeA2AJobAbandoned] +
		counts[coordination.TypeA2AJobCancelled]
	if counts[coordination.TypeA2AJobCreated] != 1 || ends != 1 {
		t.Errorf("flow %s has %d beginnings and %d ends", jobID, counts[coordination.TypeA2AJobCreated], ends)
	}
}
