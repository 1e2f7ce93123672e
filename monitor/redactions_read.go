package monitor

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// RedactionStreams begins the names of the streams of redactions.
const RedactionStreams = "redaction/"

// States of a redaction.
const (
	RedactionPending   = "pending"   // the payloads are blank; what was made of them may still hold them
	RedactionForgotten = "forgotten" // nothing of ours holds them any more
)

// Redaction is payloads that were blanked. Times are ms since 1970; null is what has not happened.
type Redaction struct {
	ID     string  `json:"id"`
	State  string  `json:"state"` // pending, forgotten
	Seqs   []int64 `json:"seqs"`  // of the events whose payloads are gone, ascending
	Reason string  `json:"reason"`
	By     string  `json:"by"`
	Seq    int64   `json:"seq"` // of its log.redacted, the first one where there are more
	AtMs   int64   `json:"atMs"`

	ForgottenSeq  *int64                        `json:"forgottenSeq"` // of its log.forgotten
	ForgottenAtMs *int64                        `json:"forgottenAtMs"`
	Projections   []string                      `json:"projections"`
	Lines         int64                         `json:"lines"`
	Files         int64                         `json:"files"`
	Archives      []string                      `json:"archives"`
	Kept          []coordination.RedactionTrace `json:"kept"`

	Progress *RedactionProgress `json:"progress,omitempty"` // while it is pending, and this process is at it
	Version  int64              `json:"-"`                  // of its stream
}

const selectRedactions = `SELECT s.name, e.seq, e.recorded_at, e.version, e.type, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name >= ? AND s.name < ? AND e.actor <> ? ORDER BY s.id, e.version`

// ReadRedactions reads the redactions of a log, oldest first, or the one with that id. They are few.
func ReadRedactions(ctx context.Context, tx *sql.Tx, id string) ([]Redaction, error) {
	from, to := RedactionStreams, strings.TrimSuffix(RedactionStreams, "/")+"0" // what follows the slash
	if id != "" {
		from += id
		to = from + "\x00"
	}
	rows, err := tx.QueryContext(ctx, selectRedactions, from, to, string(eventstore.ActorImport))
	if err != nil {
		return nil, fmt.Errorf("read redactions: %w", err)
	}
	defer rows.Close()
	list := []Redaction{}
	for rows.Next() {
		var name, typ string
		var seq, at, version int64
		var data []byte
		if err := rows.Scan(&name, &seq, &at, &version, &typ, &data); err != nil {
			return nil, fmt.Errorf("read redactions: %w", err)
		}
		if n := len(list); n == 0 || RedactionStreams+list[n-1].ID != name {
			list = append(list, Redaction{ID: strings.TrimPrefix(name, RedactionStreams), State: RedactionPending, Seqs: []int64{}, Seq: seq, AtMs: at,
				Projections: []string{}, Archives: []string{}, Kept: []coordination.RedactionTrace{}})
		}
		r := &list[len(list)-1]
		r.Version = version
		if err := r.fold(seq, at, typ, data); err != nil {
			return nil, fmt.Errorf("read redaction %s: %w", r.ID, err)
		}
	}
	return list, rows.Err()
}

// fold takes over what an event says. One more log.redacted opens a redaction again.
func (r *Redaction) fold(seq, at int64, typ string, data []byte) error {
	switch typ {
	case coordination.TypeLogRedacted:
		var said coordination.LogRedacted
		if err := json.Unmarshal(data, &said); err != nil {
			return err
		}
		r.Seqs = append(r.Seqs, said.Seqs...)
		slices.Sort(r.Seqs)
		r.Seqs = slices.Compact(r.Seqs)
		if r.Reason == "" {
			r.Reason, r.By = said.Reason, said.By
		}
		r.State, r.ForgottenSeq, r.ForgottenAtMs = RedactionPending, nil, nil
	case coordination.TypeLogForgotten:
		var said coordination.LogForgotten
		if err := json.Unmarshal(data, &said); err != nil {
			return err
		}
		r.State, r.ForgottenSeq, r.ForgottenAtMs = RedactionForgotten, &seq, &at
		r.Projections, r.Lines, r.Files = append([]string{}, said.Projections...), said.Lines, said.Files
		r.Archives, r.Kept = append([]string{}, said.Archives...), append([]coordination.RedactionTrace{}, said.Kept...)
	}
	return nil
}

// redactionNow reads one as it stands.
func (s *Server) redactionNow(ctx context.Context, id string) (r *Redaction, err error) {
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		list, err := ReadRedactions(ctx, tx, id)
		if err == nil && len(list) > 0 {
			r = &list[0]
		}
		return err
	})
	return r, err
}
