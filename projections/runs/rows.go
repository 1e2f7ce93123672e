package runs

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// row is a row of runs.
type row struct {
	id          int64
	name, runID string
	place       int64
	queuedAt    int64
	agent       string
	lane, cause string
	retryOf     string

	job, workSession, conversation, parentRun string

	sessionKey         string
	state              run.State
	sessionID          string
	startedAt, endedAt int64
	over               int64

	provider, model                        string
	stopReason, reason, errorClass         string
	inputTokens, outputTokens, totalTokens int64
	modelCalls, toolCalls                  int64
}

func newRuns(table string) *projections.Table[string, row] {
	return projections.NewTable(projections.Columns[string, row]{
		Table: table, Key: 1, Fixed: 13, Keep: 2_000,
		Names: []string{"id", "name", "run_id", "place", "queued_at", "agent", "lane", "cause", "retry_of", "job", "work_session", "conversation",
			"parent_run", "session_key", "state", "session_id", "started_at", "ended_at", "over_seq", "provider", "model", "stop_reason", "reason",
			"error_class", "input_tokens", "output_tokens", "total_tokens", "model_calls", "tool_calls"},
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *row) error {
			*x = row{
				id: r.Int(0), name: r.Text(1), runID: r.Text(2), place: r.Int(3), queuedAt: r.Int(4), agent: r.Text(5), lane: r.Text(6), cause: r.Text(7),
				retryOf: r.Text(8), job: r.Text(9), workSession: r.Text(10), conversation: r.Text(11), parentRun: r.Text(12), sessionKey: r.Text(13),
				state: run.State(r.Text(14)), sessionID: r.Text(15), startedAt: r.Int(16), endedAt: r.Int(17), over: r.Int(18),
				provider: r.Text(19), model: r.Text(20), stopReason: r.Text(21), reason: r.Text(22), errorClass: r.Text(23),
				inputTokens: r.Int(24), outputTokens: r.Int(25), totalTokens: r.Int(26), modelCalls: r.Int(27), toolCalls: r.Int(28),
			}
			return nil
		},
		Args: func(args []any, x *row) []any {
			return append(args, x.id, x.name, x.runID, x.place, x.queuedAt, x.agent, x.lane, x.cause, x.retryOf, x.job, x.workSession, x.conversation,
				x.parentRun, x.sessionKey, string(x.state), x.sessionID, x.startedAt, x.endedAt, x.over, x.provider, x.model, x.stopReason,
				x.reason, x.errorClass, x.inputTokens, x.outputTokens, x.totalTokens, x.modelCalls, x.toolCalls)
		},
	})
}

// ask stores the request.
func (x *row) ask(d *eventData) {
	if d.runID != x.name {
		x.runID = d.runID // "" if redacted
	}
	x.lane, x.cause, x.retryOf = d.lane, d.cause, d.retryOf
	x.job, x.parentRun = d.job, d.parentRun
	x.workSession, x.conversation = coordination.TrimJS(d.workSession), coordination.TrimJS(d.conversation) // in the order of the index
	if x.lane == "" {
		x.lane = run.LaneMain
	}
	x.speak(d)
}

func (x *row) begin(e *projections.Event, d *eventData) {
	x.startedAt = either(x.startedAt, either(d.startedAt, e.TS)) // it may have been parked since
	x.speak(d)
}

func (x *row) end(e *projections.Event, d *eventData) {
	x.endedAt, x.over = either(d.endedAt, e.TS), e.Seq
	x.provider, x.model, x.stopReason, x.reason, x.errorClass = d.provider, d.model, d.stopReason, d.reason, d.errorClass
	x.inputTokens, x.outputTokens, x.totalTokens = d.inputTokens, d.outputTokens, d.totalTokens
	x.modelCalls, x.toolCalls = d.modelCalls, d.toolCalls
	x.speak(d)
}

// speak stores the session, and its transcript, as far as an event names them.
func (x *row) speak(d *eventData) {
	if x.sessionKey == "" {
		if k, err := coordination.ParseSessionKey(d.sessionKey); err == nil {
			x.sessionKey = k.String()
		}
	}
	if d.sessionID != "" {
		x.sessionID = d.sessionID
	}
}

func either(said, otherwise int64) int64 {
	if said != 0 {
		return said
	}
	return otherwise
}

// state is a row of run_states.
type state struct {
	name string
	runs int64
}

func newStates(table string) *projections.Table[string, state] {
	return projections.NewTable(projections.Columns[string, state]{
		Table: table, Names: []string{"state", "runs"}, Key: 1, Fixed: 1, Keep: 10,
		Lookup: "state = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, s *state) error {
			*s = state{name: r.Text(0), runs: r.Int(1)}
			return nil
		},
		Args: func(args []any, s *state) []any { return append(args, s.name, s.runs) },
	})
}
