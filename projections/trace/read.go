package trace

import (
	"database/sql"
	"math"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// Queries for runs and flows. CROSS JOIN fixes the order of the loops: a few look-ups per id.
const (
	runColumns = `SELECT r.id, CASE r.run_id WHEN '' THEN r.name ELSE r.run_id END, r.queued_at, r.agent, r.lane, r.cause, r.retry_of, r.session_key,
 r.state, r.started_at, r.ended_at, r.over_seq, r.provider, r.model, r.reason, r.error_class, r.input_tokens, r.output_tokens, r.model_calls,
 r.tool_calls, r.job, r.work_session, r.conversation, r.parent_run`
	selectRuns          = runColumns + " FROM json_each(?) j CROSS JOIN runs r ON r.name = j.value LIMIT ?"
	selectRunsOfFlows   = runColumns + " FROM json_each(?) j CROSS JOIN runs r ON r.job = j.value AND r.job <> '' ORDER BY r.id LIMIT ?"
	selectRepeats       = runColumns + " FROM json_each(?) j CROSS JOIN runs r ON r.retry_of = j.value AND r.retry_of <> '' ORDER BY r.id LIMIT ?"
	selectRunsOfSession = runColumns + " FROM runs r WHERE r.work_session = ? AND r.work_session <> '' ORDER BY r.id DESC LIMIT ?"
	selectRunsTalking   = runColumns + " FROM runs r WHERE r.conversation = ? AND r.conversation <> '' ORDER BY r.id DESC LIMIT ?"
	selectSiblings      = "SELECT r.name, r.parent_run FROM runs r WHERE r.work_session = ? AND r.work_session <> '' ORDER BY r.id DESC LIMIT ?"

	flowColumns = `SELECT f.id, CASE f.job_id WHEN '' THEN f.name ELSE f.job_id END, f.kind, f.phase, f.from_agent, f.to_agent, f.requester_run,
 f.target_key, f.conversation_id, f.parent_id, f.work_session_id, f.task_id, f.label, f.intent, f.payload_type, f.attempt, f.turn, f.due_at,
 f.created_at, f.changed_at, f.ended_at, f.over_seq, f.outcome, f.reason, f.preview`
	selectFlows = flowColumns + " FROM json_each(?) j CROSS JOIN a2a_jobs f ON f.name = j.value LIMIT ?"
	// A run begins flows only for its own session, from its request until shortly after its end; only that part of its
	// session's flows is read.
	selectFlowsOfRuns = flowColumns + ` FROM json_each(?) j CROSS JOIN a2a_jobs f ON f.requester_key = j.value ->> 1 AND f.id > j.value ->> 2
 AND f.id <= j.value ->> 3 AND f.requester_run = j.value ->> 0 ORDER BY f.id LIMIT ?`
	selectFlowsOfSession = flowColumns + " FROM a2a_jobs f WHERE f.work_session_id = ? ORDER BY f.id DESC LIMIT ?"
	selectFlowsTalking   = flowColumns + " FROM a2a_jobs f WHERE f.conversation_id = ? ORDER BY f.id DESC LIMIT ?"
)

// runs reads runs as nodes.
func (r *reader) runs(query string, args ...any) ([]*Node, error) {
	return r.nodes(query, args, func(rows *sql.Rows, n *Node) error {
		var provider string
		err := rows.Scan(&n.Seq, &n.ID, &n.At, &n.Agent, &n.Lane, &n.Cause, &n.own.retryOf, &n.SessionKey, &n.State, &n.StartedAt, &n.EndedAt,
			&n.own.overSeq, &provider, &n.Model, &n.Reason, &n.ErrorClass, &n.InputTokens, &n.OutputTokens, &n.ModelCalls, &n.ToolCalls,
			&n.own.job, &n.WorkSession, &n.Conversation, &n.own.parentRun)
		if n.Kind = Run; provider != "" {
			n.Model = provider + "/" + n.Model
		}
		n.Open = n.own.overSeq == 0
		return err
	})
}

// flows reads flows as nodes.
func (r *reader) flows(query string, args ...any) ([]*Node, error) {
	return r.nodes(query, args, func(rows *sql.Rows, n *Node) error {
		err := rows.Scan(&n.Seq, &n.ID, &n.Of, &n.State, &n.From, &n.To, &n.own.requester, &n.SessionKey, &n.Conversation, &n.ParentConversation,
			&n.WorkSession, &n.Task, &n.Label, &n.Intent, &n.Payload, &n.Attempt, &n.Turn, &n.DueAt, &n.At, &n.Since, &n.EndedAt, &n.own.overSeq,
			&n.Outcome, &n.Reason, &n.Question)
		n.Kind, n.Open = Flow, n.own.overSeq == 0
		return err
	})
}

func (r *reader) nodes(query string, args []any, scan func(*sql.Rows, *Node) error) ([]*Node, error) {
	return projections.ListRows(r.ctx, r.tx, "read runs and flows", query, args, func(rows *sql.Rows, n **Node) error {
		*n = new(Node)
		return scan(rows, *n)
	})
}

// childrenIn returns the names of up to n of the newest runs of a work session that were requested by a run, by that
// run.
func (r *reader) childrenIn(session string, limit int) (map[string][]string, error) {
	children := map[string][]string{}
	return children, projections.EachRow(r.ctx, r.tx, "read runs", selectSiblings, []any{session, limit}, func(rows *sql.Rows) error {
		var name, parent string
		err := rows.Scan(&name, &parent)
		if parent != "" {
			children[parent] = append(children[parent], name)
		}
		return err
	})
}

// flowOf returns the flow that a run belongs to according to its id, "" if the id does not tell. The flow need not
// exist.
func flowOf(runID string) string {
	if at := strings.LastIndexByte(runID, '.'); at > 0 {
		return runID[:at]
	}
	return ""
}

// flowName is the name of a flow in the table of flows.
func flowName(jobID string) string {
	return strings.TrimPrefix(coordination.JobStream(jobID), flowStream)
}

const flowStream = "job/"

// spans are the search keys for the flows of each run: its id, its session, and the range of seqs.
func spans(runs []*Node) string {
	list := make([][4]any, len(runs))
	for i, n := range runs {
		list[i] = [4]any{n.ID, n.SessionKey, n.Seq, n.until()}
	}
	return projections.JSONList(list)
}

// queued bounds how many events may be queued for appending: at most that many are between the end of a stopped run
// and the effects of a tool call in progress.
const queued = 4_096

// until is the last seq at which a run may have caused something.
func (n *Node) until() int64 {
	if n.own.overSeq == 0 {
		return math.MaxInt64
	}
	return n.own.overSeq + queued
}

// runNames are the names of runs in the table of runs.
func runNames(ids []string) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = runName(id)
	}
	return names
}
