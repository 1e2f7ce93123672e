package sessions

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
)

// Message is a message of a transcript.
type Message struct {
	Seq      int64
	Event    eventstore.ID
	At       int64 // ms since 1970, when it happened
	Redacted bool  // Data was redacted
	After    int64 // number of later messages in the transcript
	Archived bool  // it is in an archive; Data is empty here too, but was not redacted
	Data     coordination.SessionMessage
}

const (
	// CROSS JOIN fixes the order of the loops: one look-up per message, in the order of the list.
	selectMessages = `SELECT e.seq, e.id, e.ts, e.type, e.ver, e.actor, e.data FROM json_each(?) j CROSS JOIN events e ON e.seq = j.value`

	selectSaidAfter = `SELECT e.seq, e.id, e.type, e.ver, e.data
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id AND m.seq > ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq LIMIT ?`

	selectKeyOf = `SELECT k.name FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id WHERE t.session_id = ?`

	selectTranscripts = `SELECT t.session_id, k.name, t.opened_at, t.closed_at, t.closed, coalesce(s.messages, t.messages)
  FROM session_keys k JOIN session_transcripts t ON t.key_id = k.id AND t.id > k.hidden
  LEFT JOIN sessions s ON s.id = t.key_id AND s.transcript_id = t.id
 WHERE k.name = ? ORDER BY t.id DESC`
)

// timesHeld is how often a message is in memory while it is shown: as read, as decoded, and as written.
const timesHeld = 3

// Newest returns the newest messages of a transcript, oldest first: at most limit, and at most maxBytes of data, but
// always at least one.
func Newest(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return Reader{}.Newest(ctx, tx, id, limit, maxBytes)
}

// Reader reads transcripts in a snapshot that began after it was opened, with what its cache keeps. The zero Reader has no cache.
type Reader struct {
	cache *Cache
	mark  eventstore.Mark // of before the snapshot
}

// Newest is the function of that name, with kept messages.
func (r Reader) Newest(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return r.before(ctx, tx, id, maxSeq, limit, maxBytes, func(*Message) bool { return true })
}

// Shared is Newest for those who do not change messages, without whether these are archived and without After: they are
// not copied.
func (r Reader) Shared(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]*Message, error) {
	t, err := r.collect(ctx, tx, id, maxSeq, limit, maxBytes, func(*Message) bool { return true })
	if err != nil {
		return nil, err
	}
	list := make([]*Message, len(t.list))
	for i, m := range t.list {
		list[len(list)-1-i] = m.Message
	}
	return list, nil
}

// Shown is Newest for people: without messages of exchanges between agents.
func (r Reader) Shown(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return r.before(ctx, tx, id, maxSeq, limit, maxBytes, isShown)
}

// ShownBefore is Shown for the messages before the event of seq. Their After counts from there.
func (r Reader) ShownBefore(ctx context.Context, tx *sql.Tx, id string, seq int64, limit, maxBytes int) ([]Message, error) {
	return r.before(ctx, tx, id, seq, limit, maxBytes, isShown)
}

func isShown(m *Message) bool { return !m.Data.Internal }

const (
	maxSeq = math.MaxInt64
	// maxPassed bounds the unwanted messages that are skipped.
	maxPassed = 20_000
	// takenAtOnce is how many bytes of messages are taken from the budget of reads at once.
	takenAtOnce = 64 << 10
)

// before returns the newest wanted messages of a transcript before a seq.
func (r Reader) before(ctx context.Context, tx *sql.Tx, id string, seq int64, limit, maxBytes int, wanted func(*Message) bool) ([]Message, error) {
	t, err := r.collect(ctx, tx, id, seq, limit, maxBytes, wanted)
	if err != nil {
		return nil, err
	}
	list := t.messages()
	return list, markArchived(ctx, tx, list)
}

// collect reads no more of a transcript than necessary.
func (r Reader) collect(ctx context.Context, tx *sql.Tx, id string, seq int64, limit, maxBytes int, wanted func(*Message) bool) (*transcriptRead, error) {
	t := &transcriptRead{Reader: r, ctx: ctx, tx: tx, id: id, limit: limit, maxBytes: maxBytes, wanted: wanted}
	for !t.full() {
		most := min(limit-len(t.list), placesAtOnce)
		places, err := t.placesBefore(seq, most)
		if err != nil {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		if err := t.read(places); err != nil {
			return nil, err
		}
		if len(places) < most {
			break
		}
		seq = places[len(places)-1].seq
	}
	return t, budget.Take(ctx, timesHeld*t.untaken)
}

// transcriptRead collects messages from the newest on.
type transcriptRead struct {
	Reader
	ctx             context.Context
	tx              *sql.Tx
	id              string
	limit, maxBytes int
	wanted          func(*Message) bool

	list    []passedMessage // newest first
	bytes   int
	untaken int64 // bytes not yet taken from the budget
	passed  int64 // messages considered
	ended   bool  // maxBytes is reached
}

// passedMessage is a message with the number of later ones in its transcript.
type passedMessage struct {
	*Message
	after int64
}

func (r *transcriptRead) full() bool {
	return r.ended || len(r.list) >= r.limit || r.passed >= int64(r.limit)+maxPassed
}

// messages returns the collected messages, oldest first.
func (r *transcriptRead) messages() []Message {
	if len(r.list) == 0 {
		return nil
	}
	list := make([]Message, len(r.list))
	for i, m := range slices.Backward(r.list) {
		one := &list[len(list)-1-i]
		*one = *m.Message
		one.After = m.after
	}
	return list
}

func (r *transcriptRead) placesBefore(seq int64, limit int) ([]place, error) {
	if seq == maxSeq {
		return r.newestPlaces(limit)
	}
	return readPlaces(r.ctx, r.tx, r.id, 0, seq, limit)
}

// read considers some more messages. Those that are not kept are read one after the other, until it is full.
func (r *transcriptRead) read(places []place) (err error) {
	kept := r.cache.find(places)
	var missing []int64
	for i, p := range places {
		if kept[i] == nil {
			missing = append(missing, p.seq)
		}
	}
	var rows *sql.Rows
	if len(missing) > 0 {
		if rows, err = r.tx.QueryContext(r.ctx, selectMessages, projections.JSONList(missing)); err != nil {
			return fmt.Errorf("read transcript: %w", err)
		}
		defer rows.Close()
	}
	var fresh []*cachedMessage
	defer func() { r.cache.keep(fresh) }()
	for _, m := range kept {
		if r.full() {
			return nil
		}
		if m == nil {
			if !rows.Next() {
				return fmt.Errorf("read transcript: %w", cmp.Or(rows.Err(), sql.ErrNoRows))
			}
			if m, err = scanMessage(rows); err != nil {
				return fmt.Errorf("read message: %w", err)
			}
			fresh = append(fresh, m)
		}
		if err := r.add(m); err != nil {
			return err
		}
	}
	return nil
}

func (r *transcriptRead) add(m *cachedMessage) error {
	if r.bytes+m.size > r.maxBytes && len(r.list) > 0 {
		r.ended = true
		return nil
	}
	after := r.passed
	r.passed++
	if !r.wanted(&m.message) {
		return nil
	}
	if r.untaken += int64(m.size); r.untaken > takenAtOnce {
		if err := budget.Take(r.ctx, timesHeld*r.untaken); err != nil {
			return err
		}
		r.untaken = 0
	}
	r.bytes += m.size
	r.list = append(r.list, passedMessage{&m.message, after})
	return nil
}

func scanMessage(rows *sql.Rows) (*cachedMessage, error) {
	var e eventstore.Event
	var id, data sql.RawBytes
	if err := rows.Scan(&e.Seq, &id, &e.TS, &e.Type, &e.Ver, &e.Actor, &data); err != nil {
		return nil, err
	}
	m := &cachedMessage{message: Message{Seq: e.Seq, At: e.TS, Redacted: data == nil}, size: len(data)}
	copy(m.message.Event[:], id)
	if e.Data = json.RawMessage(data); data != nil {
		_ = json.Unmarshal(projections.Current(&e).Data, &m.message.Data) // a member of another type stays blank
	}
	return m, nil
}

// askedWithin is how many messages after the request of a run are searched for the run's own.
const askedWithin = 1_000

// Asked returns the id of the message in a transcript with which the run requested by the event of seq began. It is ""
// if it is not among the next messages.
func Asked(ctx context.Context, tx *sql.Tx, id, runID string, seq int64) (string, error) {
	rows, err := tx.QueryContext(ctx, selectSaidAfter, seq, id, askedWithin)
	if err != nil {
		return "", fmt.Errorf("find message of a run: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e eventstore.Event
		var event, data sql.RawBytes
		if err := rows.Scan(&e.Seq, &event, &e.Type, &e.Ver, &data); err != nil {
			return "", fmt.Errorf("find message of a run: %w", err)
		}
		m := Message{Seq: e.Seq}
		copy(m.Event[:], event)
		if e.Data = json.RawMessage(data); len(e.Data) == 0 || json.Unmarshal(projections.Current(&e).Data, &m.Data) != nil {
			continue
		}
		if m.Data.RunID == runID && m.Data.Author == "user" {
			return m.ID(), nil
		}
	}
	return "", rows.Err()
}

// markArchived distinguishes archived messages from redacted ones.
func markArchived(ctx context.Context, tx *sql.Tx, list []Message) error {
	var blank []int64
	for i := range list {
		if list[i].Redacted {
			blank = append(blank, list[i].Seq)
		}
	}
	if len(blank) == 0 {
		return nil
	}
	archived, err := projections.Archived(ctx, tx, blank)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Archived = archived[list[i].Seq]
	}
	return nil
}

// ID returns the id given by the message's producer, otherwise its event's id.
func (m *Message) ID() string { return cmp.Or(m.Data.MessageID, m.Event.String()) }

// Transcript is the part of a session between two resets.
type Transcript struct {
	ID       string
	Key      string
	OpenedAt int64
	ClosedAt int64  // 0: the session's current one
	Closed   string // reason: new, reset, deleted
	Messages int64
}

// Transcripts lists the transcripts of a key, newest first. Those deleted with their session are not listed.
func Transcripts(ctx context.Context, tx *sql.Tx, key string) ([]Transcript, error) {
	return projections.ListRows(ctx, tx, "list transcripts", selectTranscripts, []any{key}, func(rows *sql.Rows, t *Transcript) error {
		return rows.Scan(&t.ID, &t.Key, &t.OpenedAt, &t.ClosedAt, &t.Closed, &t.Messages)
	})
}

// KeyOfTranscript returns the key of the session that has or had a transcript, deleted ones included; "" if there is no such transcript.
func KeyOfTranscript(ctx context.Context, tx *sql.Tx, id string) (key string, err error) {
	err = tx.QueryRowContext(ctx, selectKeyOf, id).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find transcript: %w", err)
	}
	return key, nil
}
