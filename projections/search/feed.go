package search

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// How long to wait for what does not tell: a fault to go away or the index projection to come on, and it to be exchanged.
const (
	patience = time.Second
	idle     = 10 * time.Second
)

// Run feeds the file until ctx ends. It follows the log as far as the index projection has come. What goes wrong is in the status, and
// is tried again; a damaged file is begun anew.
func (x *Index) Run(ctx context.Context) error {
	f := feeder{Index: x}
	for ctx.Err() == nil {
		more, err := f.step(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			x.opts.Logger.Warn("search is not fed; trying again", "err", err)
			x.change(func(s *Status) { s.Err = err })
			f.fitted = false
			f.wait(ctx)
		case more:
			x.opts.Rest(ctx)
		default:
			f.wait(ctx)
		}
	}
	return nil
}

// feeder is the cursor that feeds the file.
type feeder struct {
	*Index
	fitted   bool
	at       position
	head     int64 // of the log, before the events were read that were fed last
	tokens   tokenizer
	sessions map[string]int64 // ids of some, by name
}

// step feeds one page. more says that there is another.
func (f *feeder) step(ctx context.Context) (more bool, err error) {
	if f.mendable() {
		f.at, err = f.restart(ctx, "it is damaged")
		f.forget()
	} else if !f.fitted {
		f.at, err = f.fit(ctx)
		f.forget()
	}
	if err != nil {
		return false, err
	}
	f.fitted = true
	head, err := f.opts.Log.Head(ctx)
	if err != nil {
		return false, err
	}
	f.head = head.Seq
	p, err := f.next(ctx)
	if err != nil {
		return false, fmt.Errorf("read events to feed: %w", err)
	}
	if f.at.seq > 0 && p.indexVersion != f.at.indexVersion {
		f.at, err = f.restart(ctx, "roles and categories were made anew")
		f.forget()
		return true, err
	}
	if len(p.events) > 0 {
		if err := f.store(ctx, p); damaged(err) {
			f.at, err = f.restart(ctx, err.Error())
			f.forget()
			return true, err
		} else if err != nil {
			return false, fmt.Errorf("feed search file: %w", err)
		}
	}
	f.change(func(s *Status) {
		s.Seq, s.Head, s.Err = f.at.seq, max(f.at.seq, f.head), nil
		s.Rebuilding = s.Rebuilding && p.more
	})
	return p.more, nil
}

func (f *feeder) mendable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.damaged
}

// forget gives up what is known of the file's rows.
func (f *feeder) forget() { f.sessions = map[string]int64{} }

// store writes a page and moves the cursor, in one transaction.
func (f *feeder) store(ctx context.Context, p page) error {
	last := &p.events[len(p.events)-1]
	next := position{version: version, indexVersion: p.indexVersion, seq: last.Seq, hash: last.Hash[:]}
	err := f.opts.File.Update(ctx, func(tx *sql.Tx) error {
		texts, err := tx.PrepareContext(ctx, "INSERT INTO texts (rowid, body) VALUES (?, ?)")
		if err != nil {
			return err
		}
		defer texts.Close()
		docs, err := tx.PrepareContext(ctx, "INSERT INTO docs (seq, session, time) VALUES (?, ?, ?)")
		if err != nil {
			return err
		}
		defer docs.Close()
		for i := range p.events {
			e := &p.events[i]
			if e.Redacted() {
				continue
			}
			entry := p.entries[e.Seq]
			r := projections.Record(f.opts.Rules, e)
			session, err := f.session(ctx, tx, r.WorkSessionID, e.Seq)
			if err != nil {
				return err
			}
			if _, err := texts.ExecContext(ctx, e.Seq, f.tokenize(e, &r, entry)); err != nil {
				return err
			}
			if _, err := docs.ExecContext(ctx, e.Seq, session, entry.Time); err != nil {
				return err
			}
		}
		result, err := tx.ExecContext(ctx, "UPDATE position SET index_version = ?, seq = ?, hash = ? WHERE seq = ?", next.indexVersion,
			next.seq, next.hash, f.at.seq)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return fmt.Errorf("the search file has moved from event %d by other hands: %w", f.at.seq, err)
		}
		return nil
	})
	if err != nil {
		f.forget() // ids of sessions that were not stored
		return err
	}
	f.at = next
	return nil
}

// tokenize makes what is indexed of an event.
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

// partiesOf are the agents that an event comes from, goes to or happened to, in lower case.
func partiesOf(e *eventstore.Event, r *coordination.Record) []string {
	parties := []string{strings.ToLower(e.AgentID), strings.ToLower(r.From()), strings.ToLower(r.To())}
	slices.Sort(parties)
	parties = slices.Compact(parties)
	return slices.DeleteFunc(parties, func(agent string) bool { return agent == "" })
}

// session is the id of a work session, which begins with the event at seq if it is not known.
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

// wait returns when there is something to do: the log has gone on, the file has to be mended, or it is time to look again.
func (f *feeder) wait(ctx context.Context) {
	pause := idle
	if f.at.seq < f.head || f.Status().Err != nil {
		pause = patience
	}
	waiting, stop := context.WithTimeout(ctx, pause)
	defer stop()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := f.opts.Log.Wait(waiting, max(f.at.seq, f.head)+1); err != nil {
			<-waiting.Done()
		}
	}()
	select {
	case <-gone:
	case <-f.wake:
	}
	stop()
	<-gone
}
