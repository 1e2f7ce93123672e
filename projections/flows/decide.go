package flows

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

var selectLoad = "SELECT j." + strings.Join(jobColumns, ", j.") + ", e.type, e.ver, e.data FROM a2a_jobs j JOIN events e ON e.seq = j.id WHERE j.name = ?"

const (
	selectEvent   = "SELECT type, ver, data FROM events WHERE seq = ?"
	selectEnd     = "SELECT kind, phase, outcome FROM a2a_jobs WHERE name = ?"
	selectPermits = "SELECT active, waiting FROM a2a_permits WHERE agent = ?"
	selectNext    = `SELECT CASE j.job_id WHEN '' THEN j.name ELSE j.job_id END FROM a2a_jobs j
 WHERE j.to_agent = ? AND j.phase = 'dispatching' AND j.kind = 'send' ORDER BY j.id LIMIT ?`
	// One index entry for each flow that is skipped.

	// The newest entry of one index each.
	selectLastSent = `SELECT j.work_session_id, j.requester_run, j.created_at FROM a2a_jobs j
 WHERE j.requester_key = ? AND j.to_agent = ? AND j.kind = 'send' AND j.task_id = '' ORDER BY j.id DESC LIMIT 1`
	selectLastSentToAny = `SELECT j.work_session_id, j.requester_run, j.created_at FROM a2a_jobs j
 WHERE j.requester_key = ? AND j.kind = 'send' AND j.task_id = '' ORDER BY j.id DESC LIMIT 1`

	selectChildren = "SELECT count(*) FROM a2a_jobs j WHERE j.requester_key = ? AND j.kind = 'spawn' AND j.over_seq = 0"

	selectOpenHandoff = "SELECT " + handoffFields + ` FROM a2a_open_handoffs o JOIN a2a_handoffs h ON h.seq = o.seq JOIN a2a_jobs j ON j.name = h.job
 WHERE o.from_agent = ? AND o.to_agent = ? AND o.type = ? AND o.subject = ?`
)

// Load reads a flow with its request for a decision, within the transaction that is going to append. If the request
// was redacted, it returns what the table still knows.
func Load(tx eventstore.Tx, jobID string) (f *a2a.Flow, found bool, err error) {
	var x row
	err = tx.Query(selectLoad, []any{nameOf(jobID)}, func(r eventstore.Row) (err error) {
		x, found = scanRow(r), true
		asked := len(jobColumns)
		f, err = x.requestedFlow(dataOf(r, asked, asked+1, asked+2))
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("load flow: %w", err)
	}
	if !found {
		return nil, false, nil
	}
	if x.post > 0 {
		if f.Post, err = readPost(tx, x.post); err != nil {
			return nil, false, err
		}
	}
	return f, true, nil
}

// Sent describes the last message of a session outside of tasks.
type Sent struct {
	WorkSessionID, RequesterRun string
	CreatedAt                   int64 // ms since 1970
}

// LastSent returns the last message that a session has sent to an agent outside of tasks; to any agent if none is
// named. Its cost does not grow with the number of messages.
func LastSent(tx eventstore.Tx, session, agent string) (last Sent, found bool, err error) {
	query, args := selectLastSent, []any{session, agent}
	if agent == "" {
		query, args = selectLastSentToAny, args[:1]
	}
	err = tx.Query(query, args, func(r eventstore.Row) error {
		last, found = Sent{r.Text(0), r.Text(1), r.Int(2)}, true
		return nil
	})
	if err != nil {
		return Sent{}, false, fmt.Errorf("read the last message of session %s: %w", session, err)
	}
	return last, found && last.WorkSessionID != "", nil
}

// dataOf returns the data of an event of those columns in its newest version, nil if it is redacted.
func dataOf(r eventstore.Row, typ, ver, data int) json.RawMessage {
	if r.Null(data) {
		return nil
	}
	return projections.Current(&eventstore.Event{Type: r.Text(typ), Ver: int(r.Int(ver)), Data: json.RawMessage(r.Text(data))}).Data
}

// requestedFlow returns the flow requested by that data, with its current state.
func (x *row) requestedFlow(data json.RawMessage) (*a2a.Flow, error) {
	f := &a2a.Flow{}
	if _, err := f.Apply(coordination.TypeA2AJobCreated, data, x.id, x.createdAt); err != nil {
		return nil, fmt.Errorf("read the request at %d: %w", x.id, err)
	}
	if f.Redacted {
		f.JobID, f.Kind, f.FromAgent, f.ToAgent = x.job(), string(x.kind), x.from, x.to
		f.ConversationID, f.ParentConversationID, f.WorkSessionID, f.TaskID = x.conversation, x.parent, x.workSession, x.task
		f.RequesterSessionKey, f.RequesterRunID, f.TargetSessionKey = x.requesterKey, x.requesterRun, x.targetKey
		f.MessageIntent, f.EffectiveTurns, f.Label = x.intent, x.effectiveTurns, x.label
	}
	x.onto(f)
	return f, nil
}

// readPost reads the text to post; it is "" once that is redacted.
func readPost(tx eventstore.Tx, seq int64) (string, error) {
	var job coordination.A2AJob
	err := tx.Query(selectEvent, []any{seq}, func(r eventstore.Row) error {
		data := dataOf(r, 0, 1, 2)
		if data == nil {
			return nil
		}
		return json.Unmarshal(data, &job)
	})
	if err != nil {
		return "", fmt.Errorf("read the text to post at %d: %w", seq, err)
	}
	return job.Post, nil
}

// End returns the kind and outcome of a flow; the outcome is "" if it is open or unknown. It reads less than Load.
func End(tx eventstore.Tx, jobID string) (kind a2a.Kind, outcome string, err error) {
	err = tx.Query(selectEnd, []any{nameOf(jobID)}, func(r eventstore.Row) error {
		if a2a.Phase(r.Text(1)) == a2a.Over {
			kind, outcome = a2a.Kind(r.Text(0)), r.Text(2)
		}
		return nil
	})
	if err != nil {
		return "", "", fmt.Errorf("read how a flow has ended: %w", err)
	}
	return kind, outcome, nil
}

// Permits returns how many flows of kind send a target has that hold a permit, and how many wait for one.
func Permits(tx eventstore.Tx, target string) (active, waiting int, err error) {
	err = tx.Query(selectPermits, []any{strings.ToLower(target)}, func(r eventstore.Row) error {
		active, waiting = int(r.Int(0)), int(r.Int(1))
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count permits: %w", err)
	}
	return active, waiting, nil
}

// Next returns the flow that has waited longest for a permit of a target, except the given ones; "" if none.
func Next(tx eventstore.Tx, target string, except ...string) (jobID string, err error) {
	err = tx.Query(selectNext, []any{strings.ToLower(target), len(except) + 1}, func(r eventstore.Row) error {
		if id := r.Text(0); jobID == "" && !slices.Contains(except, id) {
			jobID = id
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find the next flow waiting for a permit: %w", err)
	}
	return jobID, nil
}

// Children returns the number of open sub-agents that a session has started.
func Children(tx eventstore.Tx, requesterKey string) (n int, err error) {
	err = tx.Query(selectChildren, []any{coordination.NormalizeSessionKey(requesterKey)}, func(r eventstore.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count sub-agents: %w", err)
	}
	return n, nil
}

// OpenHandoff returns the open handoff of a kind between two agents about one subject.
func OpenHandoff(tx eventstore.Tx, from, to string, t handoff.Type, subject string) (h Handoff, found bool, err error) {
	a := aboutOf(from, to, t, subject)
	return projections.ReadOne(tx, "find open handoff", selectOpenHandoff, []any{a.from, a.to, string(a.kind), a.subject}, handoffOf)
}

func handoffOf(r eventstore.Row) Handoff {
	return Handoff{Seq: r.Int(0), JobID: r.Text(1), RunID: r.Text(2), From: r.Text(3), To: r.Text(4), Type: handoff.Type(r.Text(5)), Subject: r.Text(6),
		Hash: r.Text(7), ConversationID: r.Text(8), WorkSessionID: r.Text(9), At: r.Int(10), State: r.Text(11), Status: r.Text(12), AnsweredSeq: r.Int(13),
		AnsweredAt: r.Int(14)}
}
