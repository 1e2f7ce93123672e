package trace

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// messageEvent is an event of the family a2a in a tree.
type messageEvent struct {
	TracedMessage
	time                         float64
	job, conversation, parent    string
	session, thread              string
	step                         coordination.Step
	retry                        Retry
	run, parentRun               string
	label, task, intent, payload string
}

const (
	eventColumns = "SELECT e.seq, e.id, e.type, e.ver, e.agent_id, e.ts, e.recorded_at, e.data, e.original"

	selectEvent      = eventColumns + " FROM events e WHERE e.seq = ?"
	selectEvents     = eventColumns + " FROM json_each(?) j CROSS JOIN events e ON e.seq = j.value"
	selectEventPlace = "SELECT stream_id, version FROM events WHERE seq = ?"
	selectStreamSize = `SELECT s.id, (SELECT max(e.version) FROM events e WHERE e.stream_id = s.id) FROM streams s WHERE s.name = ?`
	selectVersionSeq = "SELECT seq FROM events WHERE stream_id = ? AND version = ?"
	selectFromStream = eventColumns + " FROM events e WHERE e.stream_id = ? AND e.version >= ? ORDER BY e.version LIMIT ?"
	selectHeardKinds = "SELECT id FROM session_kinds WHERE type >= 'a2a.' AND type < 'a2a/' AND NOT (type >= 'a2a.job.' AND type < 'a2a.job/')"
	// Within a session, whose rows are skipped until there are enough: the cost is bounded by the session's events.
	selectFromSession = eventColumns + `, t.key FROM session_events h CROSS JOIN events e ON e.seq = h.seq CROSS JOIN threads t ON t.id = h.thread_id
 WHERE h.session_id = (SELECT id FROM work_sessions WHERE name = ?) AND h.kind_id IN (SELECT j.value FROM json_each(?) j) ORDER BY h.seq DESC LIMIT ?`
	selectChildThreads = `SELECT t.key, t.parent_id FROM threads t WHERE t.session_id = (SELECT id FROM work_sessions WHERE name = ?)
 AND t.parent_id <> '' ORDER BY t.key LIMIT ?`
)

// conversationKey is the key prefix of a thread that is a conversation.
const conversationKey = "conv:"

// event reads one event; nil if there is none.
func (r *reader) event(seq int64) (*messageEvent, error) {
	list, err := r.events(selectEvent, false, seq)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// events reads events; threaded ones with the key of their thread.
func (r *reader) events(query string, threaded bool, args ...any) (list []*messageEvent, err error) {
	var read []eventstore.Event
	err = projections.EachRow(r.ctx, r.tx, "read events", query, args, func(rows *sql.Rows) error {
		var e eventstore.Event
		var id, data, original []byte
		var thread string
		into := []any{&e.Seq, &id, &e.Type, &e.Ver, &e.AgentID, &e.TS, &e.RecordedAt, &data, &original}
		if threaded {
			into = append(into, &thread)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if e.Data, e.Original = data, original; data == nil {
			e.Data = nil
		}
		read = append(read, e)
		list = append(list, &messageEvent{TracedMessage: TracedMessage{ID: uuidText(id)}, thread: thread})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.fill(read); err != nil {
		return nil, err
	}
	for i, h := range list {
		id, thread := h.ID, h.thread
		*h = *r.parse(&read[i])
		h.ID, h.thread = id, thread
	}
	return list, nil
}

// fill restores archived payloads of events.
func (r *reader) fill(events []eventstore.Event) error {
	var blank []int64
	for i := range events {
		if events[i].Redacted() {
			blank = append(blank, events[i].Seq)
		}
	}
	if len(blank) == 0 || r.archived == nil {
		return nil
	}
	found, err := r.archived(r.ctx, r.tx, blank)
	if err != nil {
		return err
	}
	at := 0
	for i := range found {
		for at < len(events) && (events[at].Seq != found[i].Seq || !events[at].Redacted()) {
			at++
		}
		if at == len(events) {
			break
		}
		events[at].Data, events[at].Original = found[i].Data, found[i].Original
		at++
	}
	return nil
}

// parse converts an event to what a tree shows.
func (r *reader) parse(e *eventstore.Event) *messageEvent {
	rec := projections.Record(r.rules, e)
	h := &messageEvent{
		TracedMessage: TracedMessage{Seq: e.Seq, At: int64(projections.ClampTime(rec.Time)), Type: rec.Type, From: rec.From(), To: rec.To(), Outcome: rec.Outcome,
			Redacted: e.Redacted(), Preview: coordination.Preview(coordination.WordsOrText(&rec), r.roster, previewLength)},
		time: rec.Time, job: rec.JobID, conversation: rec.ConversationID, parent: rec.ParentConversationID, session: rec.WorkSessionID,
		step: coordination.ThreadStep(&rec), run: rec.RunID, parentRun: rec.ParentRunID, label: rec.Label, task: rec.TaskID, intent: rec.MessageIntent,
	}
	if h.parent == h.conversation {
		h.parent = ""
	}
	h.retry.Reason, h.Code = rec.Reason, coordination.ReasonOf(&rec)
	h.retry.ReasonCode = h.Code
	switch h.step.Outcome {
	case coordination.OutcomeBlocked, coordination.OutcomeNoReply:
		h.Reason = coordination.Preview(h.step.Reason, r.roster, previewLength)
		if h.Outcome == "" {
			h.Outcome = string(h.step.Outcome)
		}
	default:
		h.Reason = coordination.Preview(rec.Reason, r.roster, previewLength)
	}
	_ = coordination.EachField(projections.Current(e).Data, func(name string, raw []byte) bool { // the store accepts only objects
		n, _ := coordination.NumberValue(raw)
		switch name {
		case "turn":
			h.Turn = int(min(max(n, 0), 1<<20))
		case "attempt":
			h.retry.Attempt = int(min(max(n, 0), 1<<20))
		case "backoffMs":
			h.retry.BackoffMs = int64(min(max(n, 0), 1<<50))
		case "errorCategory":
			h.retry.Category, _ = coordination.StringValue(raw)
		case "errorCode":
			h.retry.Code, _ = coordination.StringValue(raw)
		case "payloadType":
			h.payload, _ = coordination.StringValue(raw)
		}
		return true
	})
	return h
}

// isMessage reports whether events of a type are shown.
func isMessage(typ string) bool {
	return strings.HasPrefix(typ, "a2a.") && !strings.HasPrefix(typ, "a2a.job.")
}

// ofSession reads up to n of the newest messages of a work session, newest first.
func (r *reader) ofSession(name string, limit int) ([]*messageEvent, error) {
	kinds, err := projections.ListRows(r.ctx, r.tx, "read kinds", selectHeardKinds, nil, func(rows *sql.Rows, id *int64) error { return rows.Scan(id) })
	if err != nil {
		return nil, err
	}
	return r.events(selectFromSession, true, name, projections.JSONList(kinds), limit)
}

// inStream reads up to n events of a conversation: from a seq on, or, if that is 0, the newest, newest first.
func (r *reader) inStream(conversationID string, seq int64, limit int) ([]*messageEvent, error) {
	var stream, size int64
	if ok, err := r.one(selectStreamSize, conversationStream+conversationID, &stream, &size); err != nil || !ok {
		return nil, err
	}
	from := max(size-int64(limit)+1, 1)
	if seq > 0 {
		low, high := int64(1), size+1 // versions increase with seqs
		for low < high {
			middle := low + (high-low)/2
			var at int64
			if err := r.tx.QueryRowContext(r.ctx, selectVersionSeq, stream, middle).Scan(&at); err != nil {
				return nil, fmt.Errorf("find an event in its stream: %w", err)
			}
			if at < seq {
				low = middle + 1
			} else {
				high = middle
			}
		}
		from = low
	}
	list, err := r.events(selectFromStream, false, stream, from, limit)
	if seq == 0 {
		slices.Reverse(list)
	}
	return list, err
}

// around reads up to n events of a conversation around a seq.
func (r *reader) around(seq int64, limit int) ([]*messageEvent, error) {
	var stream, version int64
	if err := r.tx.QueryRowContext(r.ctx, selectEventPlace, seq).Scan(&stream, &version); err != nil {
		return nil, fmt.Errorf("find an event in its stream: %w", err)
	}
	return r.events(selectFromStream, false, stream, max(version-int64(limit)/2, 1), limit)
}

// childConversations returns up to n conversations of a work session that have a parent, by parent.
func (r *reader) childConversations(session string, limit int) (map[string][]string, error) {
	children := map[string][]string{}
	return children, projections.EachRow(r.ctx, r.tx, "read threads", selectChildThreads, []any{session, limit}, func(rows *sql.Rows) error {
		var key, parent string
		err := rows.Scan(&key, &parent)
		if id, is := strings.CutPrefix(key, conversationKey); is {
			children[parent] = append(children[parent], id)
		}
		return err
	})
}

// session is a work session as in lists.
func (r *reader) session(name string, now int64) (*Session, error) {
	id, ok, err := conversations.ByName(r.ctx, r.tx, name)
	if err != nil || !ok {
		return nil, err
	}
	list, err := loadSession(r.ctx, r.tx, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	s := &list[0]
	return &Session{ID: name, Title: s.Title, Status: s.Status(float64(now)), Outcome: s.Outcome()}, nil
}

func loadSession(ctx context.Context, tx *sql.Tx, id int64) ([]conversations.Session, error) {
	kinds, err := conversations.SelectKinds(ctx, tx, conversations.Scope{Internal: true})
	if err != nil {
		return nil, err
	}
	return conversations.Load(ctx, tx, kinds, []int64{id}, 0)
}
