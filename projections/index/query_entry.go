package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Entry is the index entry of one event.
type Entry struct {
	Seq        int64
	Role       coordination.Role
	Category   coordination.Category
	Time       float64 // ms since 1970
	TimeSource string
	From, To   coordination.SessionType
	Source     coordination.Source
	Confidence float64
	SubTags    json.RawMessage // list of texts
	Version    string
}

// CROSS JOIN fixes the order of the loops: one look-up per event.
const selectEntries = `SELECT e.seq, f.role, f.category, e.time, e.time_source, e.from_type, e.to_type, e.source, e.confidence,
 e.sub_tags, e.version
 FROM json_each(?) j CROSS JOIN event_index e ON e.seq = j.value CROSS JOIN facets f ON f.id = e.facet_id`

// Entries reads the entries of events by their seqs. Seqs that are not indexed yet are missing from the result.
func Entries(ctx context.Context, tx *sql.Tx, seqs []int64) (map[int64]*Entry, error) {
	rows, err := tx.QueryContext(ctx, selectEntries, projections.JSONList(seqs))
	if err != nil {
		return nil, fmt.Errorf("read index entries: %w", err)
	}
	defer rows.Close()
	entries := make(map[int64]*Entry, len(seqs))
	for rows.Next() {
		var e Entry
		var tags []byte
		if err := rows.Scan(&e.Seq, &e.Role, &e.Category, &e.Time, &e.TimeSource, &e.From, &e.To, &e.Source, &e.Confidence, &tags,
			&e.Version); err != nil {
			return nil, fmt.Errorf("read index entry: %w", err)
		}
		e.SubTags = tags
		entries[e.Seq] = &e
	}
	return entries, rows.Err()
}

const selectKind = "SELECT f.role, f.category FROM event_index e CROSS JOIN facets f ON f.id = e.facet_id WHERE e.seq = ?"

// Kind returns the role and the category of an event; "" if it is not indexed yet.
func Kind(tx eventstore.Tx, seq int64) (role coordination.Role, category coordination.Category, err error) {
	err = tx.Query(selectKind, []any{seq}, func(r eventstore.Row) error {
		role, category = coordination.Role(r.Text(0)), coordination.Category(r.Text(1))
		return nil
	})
	if err != nil {
		return "", "", fmt.Errorf("read index entry: %w", err)
	}
	return role, category, nil
}

const selectRoster = "SELECT context FROM projections WHERE name = 'index'"

// Roster is the configured team as known to the index, for showing names.
func Roster(ctx context.Context, tx *sql.Tx) (*coordination.Roster, error) {
	return new(Rosters).Read(ctx, tx)
}

// Rosters reads rosters, and parses one that has not changed only once. It may be used concurrently.
type Rosters struct{ last atomic.Pointer[parsedRoster] }

type parsedRoster struct {
	text   string
	roster *coordination.Roster
}

// Read is Roster. The result is the same one for as long as the configuration is, and must not be changed.
func (k *Rosters) Read(ctx context.Context, tx *sql.Tx) (*coordination.Roster, error) {
	text := "{}"
	if err := tx.QueryRowContext(ctx, selectRoster).Scan(&text); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read roster: %w", err)
	}
	if last := k.last.Load(); last != nil && last.text == text {
		return last.roster, nil
	}
	roster, err := parseRoster(text)
	if err == nil {
		k.last.Store(&parsedRoster{text, roster})
	}
	return roster, err
}

func parseRoster(text string) (*coordination.Roster, error) {
	if text == "{}" {
		return coordination.DefaultRoster(), nil
	}
	var applied coordination.ConfigApplied
	if err := json.Unmarshal([]byte(text), &applied); err != nil {
		return nil, fmt.Errorf("roster in context of the index: %w", err)
	}
	return applied.Roster(), nil
}

const selectSizes = `SELECT e.seq, coalesce(octet_length(e.data), 0) + coalesce(octet_length(e.original), 0)
 FROM json_each(?) j CROSS JOIN events e ON e.seq = j.value`

// PayloadSizes returns the payload sizes of events in bytes, without reading the payloads.
func PayloadSizes(ctx context.Context, tx *sql.Tx, seqs []int64) (map[int64]int64, error) {
	rows, err := tx.QueryContext(ctx, selectSizes, projections.JSONList(seqs))
	if err != nil {
		return nil, fmt.Errorf("read sizes of events: %w", err)
	}
	defer rows.Close()
	sizes := make(map[int64]int64, len(seqs))
	for rows.Next() {
		var seq, size int64
		if err := rows.Scan(&seq, &size); err != nil {
			return nil, fmt.Errorf("read sizes of events: %w", err)
		}
		sizes[seq] = size
	}
	return sizes, rows.Err()
}
