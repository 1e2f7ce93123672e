package trace

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// reader reads everything from one snapshot.
type reader struct {
	ctx    context.Context
	tx     *sql.Tx
	rules  coordination.Rules
	roster *coordination.Roster

	archived func(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) // see Options.Events
}

// found is the object that an id names.
type found struct {
	kind Kind
	id   string
	seq  int64 // of a message
}

// Candidate is an object whose id begins like the requested one.
type Candidate struct {
	Kind Kind
	ID   string
}

func (c Candidate) String() string { return string(c.Kind) + " " + c.ID }

// NotFoundError says that an id names nothing, or is the prefix of several. Near are those, or the most similar ones.
type NotFoundError struct {
	ID        string
	Ambiguous bool
	Near      []Candidate
}

func (e *NotFoundError) Error() string {
	if e.Ambiguous {
		return fmt.Sprintf("several ids begin with %q", e.ID)
	}
	return fmt.Sprintf("no work session, flow, run, conversation or event %q", e.ID)
}

func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }
func (e *NotFoundError) Code() string  { return "not_found" }

func (e *NotFoundError) Hint() string {
	if len(e.Near) == 0 {
		return "list ids with openclawd runs, openclawd a2a or openclawd events query"
	}
	near := make([]string, len(e.Near))
	for i, c := range e.Near {
		near[i] = c.String()
	}
	if e.Ambiguous {
		return "give more characters: " + strings.Join(near, ", ")
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}

const (
	maxID       = 512 // maximum length of an id in bytes
	minPrefix   = 4   // minimum length of a prefix in characters
	minEventHex = 8   // likewise for the id of an event, in digits
	maxNear     = 5
)

// Lookups by exact id, and by the range of ids with a prefix.
const (
	selectSession      = "SELECT name FROM work_sessions WHERE name = ?"
	selectFlowID       = "SELECT name FROM a2a_jobs WHERE name = ?"
	selectRunID        = "SELECT name FROM runs WHERE name = ?"
	selectStream       = "SELECT name FROM streams WHERE name = ?"
	selectEventID      = "SELECT seq FROM events WHERE id = ?"
	selectEventSeq     = "SELECT seq FROM events WHERE seq = ?"
	selectSessionsLike = "SELECT name FROM work_sessions WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
	selectFlowsLike    = "SELECT name FROM a2a_jobs WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
	selectRunsLike     = "SELECT name FROM runs WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
	selectStreamsLike  = "SELECT name FROM streams WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
	selectEventsLike   = "SELECT id FROM events WHERE id >= ? AND id <= ? ORDER BY id LIMIT ?"
)

const conversationStream = "conversation/"

// sessionPrefix precedes a workSessionId in session ids of the API.
const sessionPrefix = "ws:"

// find resolves an id.
func (r *reader) find(id string) (found, error) {
	id = strings.TrimSpace(id)
	if id == "" || len(id) > maxID || strings.Contains(id, "\x00") {
		return found{}, &NotFoundError{ID: strings.ToValidUTF8(id[:min(len(id), maxID)], "\uFFFD")}
	}
	f, err := r.exactly(id)
	if err != nil || f.kind != "" {
		return f, err
	}
	near, err := r.beginning(id)
	switch {
	case err != nil:
		return f, err
	case len(near) == 1:
		return r.exactly(near[0].ID)
	case len(near) > 1:
		return f, &NotFoundError{ID: id, Ambiguous: true, Near: near}
	}
	near, err = r.resembling(id)
	if err != nil {
		return f, err
	}
	return f, &NotFoundError{ID: id, Near: near}
}

// exactly finds the object with exactly this id.
func (r *reader) exactly(id string) (found, error) {
	bare, _ := strings.CutPrefix(id, sessionPrefix)
	for _, at := range [...]struct {
		kind       Kind
		query, arg string
		id         string
	}{
		{WorkSession, selectSession, id, id},
		{WorkSession, selectSession, bare, bare},
		{Flow, selectFlowID, flowName(id), id},
		{Run, selectRunID, runName(id), id},
		{Conversation, selectStream, conversationStream + id, id},
	} {
		var name string
		if ok, err := r.one(at.query, at.arg, &name); err != nil || ok {
			return found{kind: at.kind, id: at.id}, err
		}
	}
	var seq int64
	if raw, digits := eventID(id); digits == 2*len(raw) {
		if ok, err := r.one(selectEventID, raw, &seq); err != nil || ok {
			return found{kind: Message, id: strings.ToLower(id), seq: seq}, err
		}
	}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		if ok, err := r.one(selectEventSeq, n, &seq); err != nil || ok {
			return found{kind: Message, id: id, seq: seq}, err
		}
	}
	return found{}, nil
}

// one reads a row, if there is one.
func (r *reader) one(query string, arg any, into ...any) (bool, error) {
	err := r.tx.QueryRowContext(r.ctx, query, arg).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up id: %w", err)
	}
	return true, nil
}

// beginning finds a few objects whose ids have this prefix. The runs of a flow are left out in favour of it, because
// their ids begin with the flow's.
func (r *reader) beginning(prefix string) (near []Candidate, err error) {
	if len([]rune(prefix)) < minPrefix {
		return nil, nil
	}
	for _, at := range [...]struct {
		kind   Kind
		query  string
		before string
	}{
		{WorkSession, selectSessionsLike, ""}, {Flow, selectFlowsLike, ""}, {Run, selectRunsLike, ""}, {Conversation, selectStreamsLike, conversationStream},
	} {
		ids, err := r.texts(at.query, at.before+prefix, at.before+prefix+"\U0010FFFF", maxNear)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			c := Candidate{at.kind, strings.TrimPrefix(id, at.before)}
			ofFlow := func(f Candidate) bool { return f.Kind == Flow && (c.ID == f.ID || strings.HasPrefix(c.ID, f.ID+".")) }
			if len(near) < maxNear && (c.Kind != Run || !slices.ContainsFunc(near, ofFlow)) {
				near = append(near, c)
			}
		}
	}
	raw, digits := eventID(prefix)
	if len(near) > 0 || digits < minEventHex {
		return near, nil
	}
	high := slices.Clone(raw)
	for i := digits; i < 2*len(high); i++ {
		high[i/2] |= 0xF << (4 * (1 - i%2))
	}
	return projections.ListRows(r.ctx, r.tx, "look up events", selectEventsLike, []any{raw, high, maxNear}, func(rows *sql.Rows, c *Candidate) error {
		var id []byte
		err := rows.Scan(&id)
		*c = Candidate{Message, uuidText(id)}
		return err
	})
}

// resembling finds a few objects that share the longest prefix with an id.
func (r *reader) resembling(id string) ([]Candidate, error) {
	const enough, longest = 6, 48
	letters := []rune(id)
	for n := min(len(letters)-1, longest); n >= enough; n-- {
		if near, err := r.beginning(string(letters[:n])); err != nil || len(near) > 0 {
			return near, err
		}
	}
	return nil, nil
}

func (r *reader) texts(query string, args ...any) ([]string, error) {
	return projections.ListRows(r.ctx, r.tx, "look up ids", query, args, func(rows *sql.Rows, text *string) error { return rows.Scan(text) })
}

const (
	runStream = "run/"
	uuidBytes = 16
)

// runName is the name of a run in the table of runs.
func runName(id string) string { return strings.TrimPrefix(coordination.RunStream(id), runStream) }

// eventID parses the beginning of an event id. digits is its length; 0 if it is not one.
func eventID(text string) (raw []byte, digits int) {
	const dashes = "        -    -    -    -            " // positions of dashes
	raw = make([]byte, uuidBytes)
	if len(text) > len(dashes) {
		return raw, 0
	}
	var b strings.Builder
	for i, c := range strings.ToLower(text) {
		switch {
		case i >= len(dashes), (c == '-') != (dashes[i] == '-'):
			return raw, 0
		case c != '-':
			b.WriteRune(c)
		}
	}
	digits = b.Len()
	half, err := hex.DecodeString(b.String() + strings.Repeat("0", digits%2))
	if err != nil {
		return raw, 0
	}
	copy(raw, half)
	return raw, digits
}

func uuidText(id []byte) string {
	h := hex.EncodeToString(id)
	if len(h) != 2*uuidBytes {
		return h
	}
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
