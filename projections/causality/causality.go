// Package causality finds causes and effects of events in the log.
package causality

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
	"github.com/pronto-lab/openclawd/projections"
)

// Link is a cause or an effect of an event.
type Link struct {
	Seq     int64         `json:"seq"`
	ID      eventstore.ID `json:"id"`
	Type    string        `json:"type"`
	AgentID string        `json:"agentId"`
	TS      int64         `json:"ts"`  // ms since 1970
	How     How           `json:"how"` // how the link is known
}

// How a link between two events is known.
type How string

const (
	ByCause  How = "cause"  // the event names its cause
	ByStream How = "stream" // it continues the stream of the other one
	ByJob    How = "job"    // it belongs to the flow that the other one started
	ByRun    How = "run"    // it belongs to the run that the other one requested
	ByWork   How = "work"   // it belongs to the work that the other one requested
)

// Limits of what is shown of one event, and of how far after it effects in other streams are searched: the log has no
// index of causes.
const (
	maxCauses  = 64
	MaxEffects = 20
	nearEvents = 2_000
)

// Log reads events with their payloads.
type Log interface {
	// EventsIn reads events by seq, in that order; unknown ones are left out.
	EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
}

// eventRef is an event with the fields that name its cause.
type eventRef struct {
	Link
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

// Causes lists the causes of an event: the direct one first, the first one last. A cause always precedes its effect.
func Causes(ctx context.Context, tx *sql.Tx, log Log, e *eventstore.Event) (chain []Link, err error) {
	for at := refOf(e); len(chain) < maxCauses; {
		cause, err := origin(ctx, tx, log, at)
		if err != nil || cause == nil {
			return chain, err
		}
		chain = append(chain, cause.Link)
		at = cause
	}
	return chain, nil
}

// origin finds the direct cause of an event; nil if it is unknown.
func origin(ctx context.Context, tx *sql.Tx, log Log, p *eventRef) (*eventRef, error) {
	if id, err := eventstore.ParseID(p.causation); err == nil {
		if cause, err := read(ctx, tx, ByCause, selectByID, id[:], p.Seq); err != nil || cause != nil {
			return cause, err
		}
	}
	if version := p.follows(); version > 0 {
		if cause, err := read(ctx, tx, ByStream, selectVersion, p.stream, version, p.Seq); err != nil || cause != nil {
			return cause, err
		}
	}
	if p.event == nil {
		events, err := log.EventsIn(ctx, tx, []int64{p.Seq})
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
func read(ctx context.Context, tx *sql.Tx, how How, query string, args ...any) (*eventRef, error) {
	p := &eventRef{Link: Link{How: how}}
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
	case "run", "job", "work", "plan", "collab", "redaction":
		return true
	}
	_, decided := coordination.MessageOfStream(stream)
	return decided
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
	how    How
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
		list = append(list, membership{coordination.JobStream(says.JobID), ByJob})
	}
	for _, id := range []string{says.RunID, says.RequesterRunID, says.ParentRunID} {
		if id != "" {
			list = append(list, membership{coordination.RunStream(id), ByRun})
		}
	}
	if says.EffectID != "" {
		list = append(list, membership{coordination.WorkStream(says.EffectID), ByWork})
	}
	return list
}

const (
	linkColumns     = "SELECT seq, id, type, agent_id, ts FROM events"
	selectCaused    = linkColumns + " WHERE seq > ? AND seq <= ? AND causation_id = ? ORDER BY seq LIMIT ?"
	selectFollowing = linkColumns + " WHERE stream_id = (SELECT id FROM streams WHERE name = ?) AND version > ? AND causation_id = '' ORDER BY version LIMIT ?"
)

// Effects lists the direct effects of an event, up to MaxEffects. Effects that name it as their cause are searched among
// the next events of the log only.
func Effects(ctx context.Context, tx *sql.Tx, e *eventstore.Event) ([]Link, error) {
	following := 0
	switch {
	case e.Version == 1 && startedByFirst(e.Stream):
		following = MaxEffects
	case alternating(e.Stream):
		following = 1
	}
	caused, err := links(ctx, tx, ByCause, selectCaused, e.Seq, e.Seq+nearEvents, e.ID.String(), MaxEffects)
	if err != nil {
		return nil, err
	}
	next, err := links(ctx, tx, ByStream, selectFollowing, e.Stream, e.Version, following)
	list := append(caused, next...)
	slices.SortFunc(list, func(a, b Link) int { return cmp.Compare(a.Seq, b.Seq) })
	return list[:min(len(list), MaxEffects)], err
}

func links(ctx context.Context, tx *sql.Tx, how How, query string, args ...any) ([]Link, error) {
	return projections.ListRows(ctx, tx, "read causes and effects", query, args, func(rows *sql.Rows, l *Link) error {
		var id []byte
		err := rows.Scan(&l.Seq, &id, &l.Type, &l.AgentID, &l.TS)
		l.How = how
		copy(l.ID[:], id)
		return err
	})
}

func linkOf(e *eventstore.Event) Link {
	return Link{Seq: e.Seq, ID: e.ID, Type: e.Type, AgentID: e.AgentID, TS: e.TS}
}
