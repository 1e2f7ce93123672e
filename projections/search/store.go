package search

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// store writes a page and moves the cursor, in one transaction.
func (f *feeder) store(ctx context.Context, p page) error {
	last := p.events[len(p.events)-1]
	next := position{version: version, indexVersion: p.indexVersion, seq: last.Seq, hash: last.Hash[:]}
	p.events = slices.DeleteFunc(p.events, func(e eventstore.Event) bool { return e.Redacted() })
	records := make([]coordination.Record, len(p.events))
	for i := range p.events {
		records[i] = projections.Record(f.opts.Rules, &p.events[i])
	}
	err := f.opts.File.Update(ctx, func(tx *sql.Tx) error {
		if err := f.storeDocs(ctx, tx, p, records); err != nil {
			return err
		}
		if err := f.storePosition(ctx, tx, next); err != nil {
			return err
		}
		return f.storeTexts(ctx, tx, p, records)
	})
	if err != nil {
		f.forget() // ids of sessions that were not stored
		return err
	}
	f.at = next
	return nil
}

func (f *feeder) storeDocs(ctx context.Context, tx *sql.Tx, p page, records []coordination.Record) error {
	docs, err := tx.PrepareContext(ctx, "INSERT INTO docs (seq, session, time) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer docs.Close()
	spans := timeSpans{}
	for i := range p.events {
		seq := p.events[i].Seq
		session, err := f.session(ctx, tx, records[i].WorkSessionID, seq)
		if err != nil {
			return err
		}
		time := p.entries[seq].Time
		if _, err := docs.ExecContext(ctx, seq, session, time); err != nil {
			return err
		}
		spans.add(seq, time)
	}
	return spans.store(ctx, tx)
}

func (f *feeder) storePosition(ctx context.Context, tx *sql.Tx, next position) error {
	result, err := tx.ExecContext(ctx, "UPDATE position SET index_version = ?, seq = ?, hash = ? WHERE seq = ?", next.indexVersion,
		next.seq, next.hash, f.at.seq)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("the search file was moved from event %d by another process: %w", f.at.seq, err)
	}
	return nil
}

func (f *feeder) storeTexts(ctx context.Context, tx *sql.Tx, p page, records []coordination.Record) error {
	texts, err := tx.PrepareContext(ctx, "INSERT INTO texts (rowid, body) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer texts.Close()
	for i := range p.events {
		e := &p.events[i]
		if _, err := texts.ExecContext(ctx, e.Seq, f.tokenize(e, &records[i], p.entries[e.Seq])); err != nil {
			return err
		}
	}
	return nil
}

// tokenize computes the tokens of an event.
func (f *feeder) tokenize(e *eventstore.Event, r *coordination.Record, entry *index.Entry) string {
	t := &f.tokens
	t.begin()
	t.event(r)
	t.facet(facetRole, string(entry.Role))
	t.facet(facetType, e.Type)
	t.facet(facetCategory, string(entry.Category))
	for _, agent := range partiesOf(e, r) {
		t.facet(facetAgent, agent)
	}
	if r.WorkSessionID != "" {
		t.facet(facetSession, r.WorkSessionID)
	}
	if coordination.Internal(e.Type) && e.Actor != eventstore.ActorImport {
		t.facet(facetInternal, "")
	}
	return string(t.b)
}

// partiesOf returns the agents that an event is from, to or about, in lower case.
func partiesOf(e *eventstore.Event, r *coordination.Record) []string {
	parties := []string{strings.ToLower(e.AgentID), strings.ToLower(r.From()), strings.ToLower(r.To())}
	slices.Sort(parties)
	parties = slices.Compact(parties)
	return slices.DeleteFunc(parties, func(agent string) bool { return agent == "" })
}

// session returns the id of a work session, which begins with the event at seq if it is unknown.
func (f *feeder) session(ctx context.Context, tx *sql.Tx, name string, seq int64) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	if id, ok := f.sessions[name]; ok {
		return id, nil
	}
	const keep = 10_000
	if len(f.sessions) >= keep {
		f.forget()
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO sessions (id, name) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", seq, name); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT id FROM sessions WHERE name = ?", name).Scan(&id); err != nil {
		return 0, err
	}
	f.sessions[name] = id
	return id, nil
}
