// Package redactions reads the redactions of a log from their streams. They are few, so they have no tables.
package redactions

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Streams is the prefix of redactions' streams.
const Streams = "redaction/"

// States of a redaction.
const (
	Pending   = "pending"   // the payloads are redacted; derived data may still contain them
	Forgotten = "forgotten" // no data of openclawd contains them any more
)

// Redaction is a set of redacted payloads. Times are ms since 1970; null if it has not happened.
type Redaction struct {
	ID     string  `json:"id"`
	State  string  `json:"state"` // pending, forgotten
	Seqs   []int64 `json:"seqs"`  // of the redacted events, ascending
	Reason string  `json:"reason"`
	By     string  `json:"by"`
	Seq    int64   `json:"seq"` // of its log.redacted, the first one if there are several
	AtMs   int64   `json:"atMs"`

	ForgottenSeq  *int64                        `json:"forgottenSeq"` // of its log.forgotten
	ForgottenAtMs *int64                        `json:"forgottenAtMs"`
	Projections   []string                      `json:"projections"`
	Lines         int64                         `json:"lines"`
	Files         int64                         `json:"files"`
	Archives      []string                      `json:"archives"`
	Kept          []coordination.RedactionTrace `json:"kept"`

	Progress *redaction.Progress `json:"progress,omitempty"` // while pending and running in this process
	Version  int64               `json:"-"`                  // of its stream
}

// Answer answers POST /api/redactions.
type Answer struct {
	OK     bool `json:"ok"`
	DryRun bool `json:"dryRun"`
	*redaction.Plan
	Count     int        `json:"count"` // of all matches, listed or not
	Redaction *Redaction `json:"redaction,omitempty"`
}

const query = `SELECT s.name, e.seq, e.recorded_at, e.version, e.type, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name >= ? AND s.name < ? AND e.actor <> ? ORDER BY s.id, e.version`

// Read reads all redactions of a log, oldest first, or the one with an id. They are few.
func Read(ctx context.Context, tx *sql.Tx, id string) ([]Redaction, error) {
	from, to := Streams, strings.TrimSuffix(Streams, "/")+"0" // after the slash
	if id != "" {
		from += id
		to = from + "\x00"
	}
	list := []Redaction{}
	err := projections.EachRow(ctx, tx, "read redactions", query, []any{from, to, string(eventstore.ActorImport)}, func(rows *sql.Rows) error {
		var name, typ string
		var seq, at, version int64
		var data []byte
		if err := rows.Scan(&name, &seq, &at, &version, &typ, &data); err != nil {
			return err
		}
		if n := len(list); n == 0 || Streams+list[n-1].ID != name {
			list = append(list, Redaction{ID: strings.TrimPrefix(name, Streams), State: Pending, Seqs: []int64{}, Seq: seq, AtMs: at,
				Projections: []string{}, Archives: []string{}, Kept: []coordination.RedactionTrace{}})
		}
		r := &list[len(list)-1]
		r.Version = version
		if err := r.fold(seq, at, typ, data); err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		return nil
	})
	return list, err
}

// fold applies an event. A further log.redacted reopens a redaction.
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
		r.State, r.ForgottenSeq, r.ForgottenAtMs = Pending, nil, nil
	case coordination.TypeLogForgotten:
		var said coordination.LogForgotten
		if err := json.Unmarshal(data, &said); err != nil {
			return err
		}
		r.State, r.ForgottenSeq, r.ForgottenAtMs = Forgotten, &seq, &at
		r.Projections, r.Lines, r.Files = append([]string{}, said.Projections...), said.Lines, said.Files
		r.Archives, r.Kept = append([]string{}, said.Archives...), append([]coordination.RedactionTrace{}, said.Kept...)
	}
	return nil
}
