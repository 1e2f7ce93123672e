package debugger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/history"
)

// Limits of what is shown of one event, and of how far after it effects in other streams are searched: the log has no
// index of causes.
const (
	maxCauses  = 64
	MaxEffects = 20 // of a Step
	nearEvents = 2_000
)

// relations finds causes and effects of events in the log.
type relations struct{ log *sqlite.DB }

// eventRef is an event with the fields that name its cause.
type eventRef struct {
	history.Link
	stream    string
	version   int64
	causation string
	event     *eventstore.Event // nil: its data has not been read
}

func refOf(e *eventstore.Event) *eventRef {
	return &eventRef{linkOf(e), e.Stream, e.Version, e.CausationID, e}
}

const (
	placeColumns  = "SELECT e.seq, e.id, e.type, e.agent_id, e.ts, s.name, e.version, e.causation_id FROM events e JOIN streams s ON s.id = e.stream_id"
	selectByID    = placeColumns + " WHERE e.id = ? AND e.seq < ?"
	selectVersion = placeColumns + " WHERE s.name = ? AND e.version = ? AND e.seq < ?"
)

// causes lists the causes of an event: the direct one first, the first one last. A cause always precedes its effect.
func (r relations) causes(ctx context.Context, e *eventstore.Event) (chain []history.Link, err error) {
	err = r.log.View(ctx, func(tx *sql.Tx) error {
		for at := refOf(e); len(chain) < maxCauses; {
			cause, err := r.origin(ctx, tx, at)
			if err != nil || cause == nil {
				return err
			}
			chain = append(chain, cause.Link)
			at = cause
		}
		return nil
	})
	return chain, err
}

// origin finds the direct cause of an event; nil if it is unknown.
func (r relations) origin(ctx context.Context, tx *sql.Tx, p *eventRef) (*eventRef, error) {
	if id, err := eventstore.ParseID(p.causation); err == nil {
		if cause, err := read(ctx, tx, history.ByCause, selectByID, id[:], p.Seq); err != nil || cause != nil {
			return cause, err
		}
	}
	if version := p.follows(); version > 0 {
		if cause, err := read(ctx, tx, history.ByStream, selectVersion, p.stream, version, p.Seq); err != nil || cause != nil {
			return cause, err
		}
	}
	if p.event == nil {
		events, err := r.log.EventsIn(ctx, tx, []int64{p.Seq})
		if err != nil || len(events) == 0 {
			return nil, err
		}
		p.event = &events[0]
	}
	for _, b := range memberships(p.event) {
		if b.stream == p.stream {
			continue
		}
		if cause, err := read(ctx, tx, b.how, selectVersion, b.stream, 1, p.Seq); err != nil || cause != nil {
			return cause, err
		}
	}
	return nil, nil
}

// read returns the event that a query finds; nil for none.
func read(ctx context.Context, tx *sql.Tx, how history.How, query string, args ...any) (*eventRef, error) {
	p := &eventRef{Link: history.Link{How: how}}
	var id []byte
	err := tx.QueryRowContext(ctx, query, args...).Scan(&p.Seq, &id, &p.Type, &p.AgentID, &p.TS, &p.stream, &p.version, &p.causation)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	copy(p.ID[:], id)
	return p, err
}

// startedByFirst reports whether the first event of such a stream is the cause of all others in it; in the streams
// of alternating each event answers the one before.
func startedByFirst(stream string) bool {
	switch family(stream) {
	case "run", "job", "work", "plan", "collab", "discord", "redaction":
		return true
	}
	return false
}

func alternating(stream string) bool {
	switch family(stream) {
	case "conversation", "task":
		return true
	}
	return false
}

func family(stream string) string {
	name, _, _ := strings.Cut(stream, "/")
	return name
}

// follows returns the version, in its own stream, of the event that this one continues; 0 for none.
func (p *eventRef) follows() int64 {
	switch {
	case p.version > 1 && startedByFirst(p.stream):
		return 1
	case p.version > 1 && alternating(p.stream):
		return p.version - 1
	}
	return 0
}

// membership is another stream that an event belongs to by its payload.
type membership struct {
	stream string
	how    history.How
}

func memberships(e *eventstore.Event) (list []membership) {
	if e.Redacted() {
		return nil
	}
	var says struct {
		JobID          string `json:"jobId"`
		RunID          string `json:"runId"`
		ParentRunID    string `json:"parentRunId"`
		RequesterRunID string `json:"requesterRunId"`
		EffectID       string `json:"effectId"`
	}
	if json.Unmarshal(e.Data, &says) != nil {
		return nil
	}
	if says.JobID != "" {
		list = append(list, membership{coordination.JobStream(says.JobID), history.ByJob})
	}
	for _, id := range []string{says.RunID, says.RequesterRunID, says.ParentRunID} {
		if id != "" {
			list = append(list, membership{coordination.RunStream(id), history.ByRun})
		}
	}
	if says.EffectID != "" {
		list = append(list, membership{coordination.WorkStream(says.EffectID), history.ByWork})
	}
	return list
}

const (
	linkColumns     = "SELECT seq, id, type, agent_id, ts FROM events"
	selectCaused    = linkColumns + " WHERE seq > ? AND seq <= ? AND causation_id = ? ORDER BY seq LIMIT ?"
	selectFollowing = linkColumns + " WHERE stream_id = (SELECT id FROM streams WHERE name = ?) AND version > ? AND causation_id = '' ORDER BY version LIMIT ?"
)

// effects lists the direct effects of an event, up to a limit. Effects that name it as their cause are searched among
// the next events of the log only.
func (r relations) effects(ctx context.Context, e *eventstore.Event) (list []history.Link, err error) {
	following := 0
	switch {
	case e.Version == 1 && startedByFirst(e.Stream):
		following = MaxEffects
	case alternating(e.Stream):
		following = 1
	}
	err = r.log.View(ctx, func(tx *sql.Tx) error {
		caused, err := links(ctx, tx, history.ByCause, selectCaused, e.Seq, e.Seq+nearEvents, e.ID.String(), MaxEffects)
		if err != nil {
			return err
		}
		next, err := links(ctx, tx, history.ByStream, selectFollowing, e.Stream, e.Version, following)
		list = append(caused, next...)
		return err
	})
	slices.SortFunc(list, func(a, b history.Link) int { return cmp.Compare(a.Seq, b.Seq) })
	return list[:min(len(list), MaxEffects)], err
}

func links(ctx context.Context, tx *sql.Tx, how history.How, query string, args ...any) (list []history.Link, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		l := history.Link{How: how}
		var id []byte
		if err := rows.Scan(&l.Seq, &id, &l.Type, &l.AgentID, &l.TS); err != nil {
			return nil, err
		}
		copy(l.ID[:], id)
		list = append(list, l)
	}
	return list, rows.Err()
}

func linkOf(e *eventstore.Event) history.Link {
	return history.Link{Seq: e.Seq, ID: e.ID, Type: e.Type, AgentID: e.AgentID, TS: e.TS}
}
