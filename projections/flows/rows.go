package flows

import (
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// row is a row of a2a_jobs.
type row struct {
	id        int64
	name      string
	createdAt int64

	jobID                      string // "" if equal to name
	kind                       a2a.Kind
	from, to                   string
	conversation, parent       string
	workSession, task          string
	requesterKey, requesterRun string
	targetKey                  string
	label, preview, intent     string
	payloadType, subject, hash string
	effectiveTurns             int
	phase                      a2a.Phase
	dueAt                      int64
	runID, speaker             string
	attempt, turn, resumed     int
	said                       string // JSON
	endedEarly                 string
	changedAt                  int64
	sent, post, over           int64 // seqs
	endedAt                    int64
	outcome, reason            string
}

var jobColumns = []string{"id", "name", "created_at", "job_id", "kind", "from_agent", "to_agent", "conversation_id", "parent_id", "work_session_id", "task_id",
	"requester_key", "requester_run", "target_key", "label", "preview", "intent", "payload_type", "payload_subject", "payload_hash", "effective_turns",
	"phase", "due_at", "run_id", "speaker", "attempt", "turn", "resumed", "said", "ended_early", "changed_at", "sent_seq", "post_seq", "over_seq", "ended_at",
	"outcome", "reason"}

func newJobs(table string) *projections.Table[string, row] {
	return projections.NewTable(projections.Columns[string, row]{
		Table: table, Key: 1, Fixed: 3, Keep: 2_000, Names: jobColumns,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *row) error {
			*x = scanRow(r)
			return nil
		},
		Args: func(args []any, x *row) []any {
			return append(args, x.id, x.name, x.createdAt, x.jobID, string(x.kind), x.from, x.to, x.conversation, x.parent, x.workSession, x.task,
				x.requesterKey, x.requesterRun, x.targetKey, x.label, x.preview, x.intent, x.payloadType, x.subject, x.hash, x.effectiveTurns,
				string(x.phase), x.dueAt, x.runID, x.speaker, x.attempt, x.turn, x.resumed, x.said, x.endedEarly, x.changedAt, x.sent, x.post, x.over, x.endedAt,
				x.outcome, x.reason)
		},
	})
}

// scanRow reads jobColumns.
func scanRow(r eventstore.Row) row {
	return row{id: r.Int(0), name: r.Text(1), createdAt: r.Int(2), jobID: r.Text(3), kind: a2a.Kind(r.Text(4)), from: r.Text(5), to: r.Text(6),
		conversation: r.Text(7), parent: r.Text(8), workSession: r.Text(9), task: r.Text(10), requesterKey: r.Text(11), requesterRun: r.Text(12),
		targetKey: r.Text(13), label: r.Text(14), preview: r.Text(15), intent: r.Text(16), payloadType: r.Text(17), subject: r.Text(18), hash: r.Text(19),
		effectiveTurns: int(r.Int(20)), phase: a2a.Phase(r.Text(21)), dueAt: r.Int(22), runID: r.Text(23), speaker: r.Text(24), attempt: int(r.Int(25)),
		turn: int(r.Int(26)), resumed: int(r.Int(27)), said: r.Text(28), endedEarly: r.Text(29), changedAt: r.Int(30), sent: r.Int(31), post: r.Int(32),
		over: r.Int(33), endedAt: r.Int(34), outcome: r.Text(35), reason: r.Text(36)}
}

// flow returns the flow as far as the row describes it.
func (x *row) flow() *a2a.Flow {
	f := &a2a.Flow{}
	f.JobID = x.job()
	x.onto(f)
	return f
}

// job returns the id of the flow; for an id that is not valid in a name it is the hash, if all events with the id are
// redacted.
func (x *row) job() string {
	if x.jobID != "" {
		return x.jobID
	}
	return x.name
}

// onto copies the state of the flow onto its request.
func (x *row) onto(f *a2a.Flow) {
	f.Seq, f.CreatedAt, f.ChangedAt = x.id, x.createdAt, x.changedAt
	f.Phase, f.DueAt, f.RunID, f.Speaker = x.phase, x.dueAt, x.runID, x.speaker
	f.Attempt, f.Turn, f.Resumed = x.attempt, x.turn, x.resumed
	f.EndedEarly, f.Outcome = x.endedEarly, x.outcome
	f.Said = eventDataOf(x.said)
}

// none is the JSON of an empty list.
const none = "[]"

func eventDataOf(text string) (said []a2a.AnswerPreview) {
	if text == none {
		return nil
	}
	_ = json.Unmarshal([]byte(text), &said) // written by set
	return said
}

// set stores the state of the flow.
func (x *row) set(f *a2a.Flow) {
	x.phase, x.dueAt, x.runID, x.speaker, x.changedAt = f.Phase, f.DueAt, f.RunID, f.Speaker, f.ChangedAt
	x.attempt, x.turn, x.resumed = f.Attempt, f.Turn, f.Resumed
	x.endedEarly, x.outcome = f.EndedEarly, f.Outcome
	x.said = none
	if len(f.Said) > 0 {
		text, err := json.Marshal(f.Said)
		if err == nil { // texts always marshal
			x.said = string(text)
		}
	}
}

// maxPreview is the number of characters kept of a message.
const maxPreview = a2a.PreviewLength

// ask stores the request.
func (x *row) ask(f *a2a.Flow, roster *coordination.Roster) {
	x.requesterKey, x.requesterRun, x.targetKey = coordination.NormalizeSessionKey(f.RequesterSessionKey), f.RequesterRunID, coordination.NormalizeSessionKey(f.TargetSessionKey)
	x.label, x.intent, x.effectiveTurns = f.Label, f.MessageIntent, f.EffectiveTurns
	x.preview = coordination.Preview(f.Message, roster, maxPreview)
	x.payloadType, x.subject, x.hash = f.PayloadType, f.PayloadSubject, f.PayloadHash
}

// belong stores the work session and conversation of the flow, as far as unknown: each of its events has them, and
// some may be redacted.
func (x *row) belong(d *eventData) {
	if x.jobID == "" && d.jobID != x.name {
		x.jobID = d.jobID
	}
	known := func(column *string, text string) {
		if *column == "" {
			*column = text
		}
	}
	known((*string)(&x.kind), d.kind)
	known(&x.from, strings.ToLower(d.from))
	known(&x.to, strings.ToLower(d.to))
	known(&x.conversation, d.conversation)
	known(&x.parent, d.parent)
	known(&x.workSession, d.workSession)
	known(&x.task, d.task)
}

// permits is a row of a2a_permits.
type permits struct {
	agent           string
	active, waiting int
}

func newPermits(table string) *projections.Table[string, permits] {
	return projections.NewTable(projections.Columns[string, permits]{
		Table: table, Names: []string{"agent", "active", "waiting"}, Key: 1, Fixed: 1, Keep: 1_000,
		Lookup: "agent = ?", LookUp: func(agent string) []any { return []any{agent} },
		Scan: func(r eventstore.Row, p *permits) error {
			*p = permits{r.Text(0), int(r.Int(1)), int(r.Int(2))}
			return nil
		},
		Args:  func(args []any, p *permits) []any { return append(args, p.agent, p.active, p.waiting) },
		Empty: func(p *permits) bool { return p.active == 0 && p.waiting == 0 },
	})
}

// sort is the key by which flows are counted.
type sort struct {
	kind    a2a.Kind
	phase   a2a.Phase
	outcome string
}

// tally is a row of a2a_job_states.
type tally struct {
	sort
	flows int64
}

func newTallies(table string) *projections.Table[sort, tally] {
	return projections.NewTable(projections.Columns[sort, tally]{
		Table: table, Names: []string{"kind", "phase", "outcome", "flows"}, Key: 3, Fixed: 3, Keep: 100,
		Lookup: "kind = ? AND phase = ? AND outcome = ?", LookUp: func(s sort) []any { return []any{string(s.kind), string(s.phase), s.outcome} },
		Scan: func(r eventstore.Row, t *tally) error {
			*t = tally{sort{a2a.Kind(r.Text(0)), a2a.Phase(r.Text(1)), r.Text(2)}, r.Int(3)}
			return nil
		},
		Args: func(args []any, t *tally) []any {
			return append(args, string(t.kind), string(t.phase), t.outcome, t.flows)
		},
		Empty: func(t *tally) bool { return t.flows == 0 },
	})
}
