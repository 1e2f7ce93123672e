package projections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what the engine needs of the store.
type Log interface {
	eventstore.Reader
	// Exclusive runs job in a write transaction of its own, between two appends, and committed, which may be nil, right after its commit.
	Exclusive(ctx context.Context, job func(eventstore.Tx) error, committed func()) error
	// Attach makes the engine take part in every append from now on; handover runs between the last append without it and the first with it.
	Attach(ctx context.Context, inline eventstore.Inline, handover func(eventstore.Tx) error) error
	View(ctx context.Context, read func(*sql.Tx) error) error
	// Fatal distinguishes an error that concerns the whole file from one that concerns a statement.
	Fatal(err error) bool
}

// Options of Start.
type Options struct {
	Rules  coordination.Rules
	Now    func() time.Time // timestamp of parked projections; not visible to folds
	Logger *slog.Logger
}

// Engine runs projectors inside the store's write transactions. It implements eventstore.Inline.
type Engine struct {
	log   Log
	opts  Options
	units []*unit

	// The committed events that read models do not reflect yet, as far as they are held, then those of the running batch.
	batch   []accepted
	stored  int   // how many of them are committed
	written int   // how many of them the running transaction applies to the read models
	marked  int   // length of batch at Begin
	head    int64 // seq of the last committed event

	config, committed, atBegin *configuration

	reported   sync.Map   // type versions already logged: see report
	rebuilding sync.Mutex // one rebuild at a time
	pace       pace       // of it
}

// accepted is an event with the configuration after it.
type accepted struct {
	Event
	config *configuration
}

// configuration is the current configuration of the agents according to the log, and its encoding in checkpoints. It
// is immutable.
type configuration struct {
	roster *coordination.Roster
	json   string
}

// noContext is the checkpoint's configuration before the log has any.
const noContext = "{}"

func emptyConfiguration() *configuration {
	return &configuration{coordination.DefaultRoster(), noContext}
}

// unit is one running projector.
type unit struct {
	def     Definition
	project Projector
	rows    []Rows
	state   State
	seq     int64 // checkpoint, as the running transaction has it
	context string

	before struct { // as of the last commit
		state State
		seq   int64
		ctx   string
	}
}

// State is the state of a projection.
type State string

const (
	Live       State = "live"       // every append is applied, to decision tables at once
	Parked     State = "parked"     // an event could not be applied; tables stay at the checkpoint until a rebuild
	Rebuilding State = "rebuilding" // tables have another version and are frozen until the rebuild swaps new ones in
)

// Start activates the projections of a log. Read models that a process left a little behind when it ended are brought
// to the head. Decision tables that are behind or of another version are rebuilt before it returns; read models in that
// state are left frozen: Stale lists them and Rebuild repairs them while the log continues.
func Start(ctx context.Context, log Log, defs []Definition, opts Options) (*Engine, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Engine{log: log, opts: opts, pace: usualPace}
	for _, d := range defs {
		g.units = append(g.units, newUnit(d))
	}
	if err := log.Attach(ctx, g, g.load); err != nil {
		return nil, fmt.Errorf("start projections: %w", err)
	}
	var behind []string
	for _, u := range g.units {
		if u.def.Kind == Decision && u.state != Live {
			behind = append(behind, u.def.Name)
		}
	}
	if len(behind) > 0 {
		if err := g.Rebuild(ctx, RebuildOptions{Names: behind}); err != nil {
			return nil, fmt.Errorf("bring decision tables up to date: %w", err)
		}
	}
	return g, nil
}

func newUnit(d Definition) *unit {
	u := &unit{def: d, context: noContext, project: d.New(func(table string) string { return table })}
	u.rows = u.project.Rows()
	return u
}

// load reads the checkpoint of each projection. It runs in the transaction that attaches the engine.
func (g *Engine) load(tx eventstore.Tx) error {
	head, err := eventstore.HeadSeq(tx)
	if err != nil {
		return err
	}
	g.head = head
	if err := dropShadows(tx); err != nil {
		return err
	}
	g.config = emptyConfiguration()
	for _, u := range g.units {
		found, version := false, ""
		err = tx.Query("SELECT version, state, seq, context FROM projections WHERE name = ?", []any{u.def.Name}, func(r eventstore.Row) error {
			found, version, u.state, u.seq, u.context = true, r.Text(0), State(r.Text(1)), r.Int(2), r.Text(3)
			return nil
		})
		if err != nil {
			return err
		}
		switch {
		case !found:
			u.state, u.seq, u.context = Live, 0, noContext
			if head > 0 {
				u.state = Rebuilding
			}
			_, err = tx.Exec("INSERT INTO projections (name, version, kind, state, seq, context) VALUES (?, ?, ?, ?, 0, '{}')",
				u.def.Name, u.def.Version, string(u.def.Kind), string(u.state))
		case u.state == Parked:
		case version == u.def.Version && u.state == Live && u.def.Kind == ReadModel && u.seq < head && head-u.seq <= maxTail:
			err = g.foldTail(tx, u, head)
		case version != u.def.Version || u.seq != head:
			u.state = Rebuilding
			_, err = tx.Exec("UPDATE projections SET state = ? WHERE name = ?", string(u.state), u.def.Name)
		default:
			u.state = Live
			_, err = tx.Exec("UPDATE projections SET state = ? WHERE name = ?", string(u.state), u.def.Name)
		}
		if err != nil {
			return err
		}
		if u.state == Live {
			if g.config, err = parseConfiguration(u.context); err != nil {
				return fmt.Errorf("context of projection %s: %w", u.def.Name, err)
			}
		}
		u.saved()
	}
	if err := g.loadConfiguration(tx); err != nil {
		return err
	}
	g.committed = g.config
	return nil
}

// loadConfiguration reads the newest configuration from the log if no live projection has it.
func (g *Engine) loadConfiguration(tx eventstore.Tx) error {
	for _, u := range g.units {
		if u.state == Live {
			return nil
		}
	}
	return tx.Query(`SELECT type, actor, data, ver FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)
 ORDER BY version DESC LIMIT 1`, []any{coordination.ConfigStream}, func(r eventstore.Row) error {
		g.config = g.config.after(Current(&eventstore.Event{
			Type: r.Text(0), Actor: eventstore.Actor(r.Text(1)), Data: r.Blob(2), Ver: int(r.Int(3)),
		}))
		return nil
	})
}

func parseConfiguration(context string) (*configuration, error) {
	if context == noContext {
		return emptyConfiguration(), nil
	}
	var applied coordination.ConfigApplied
	if err := json.Unmarshal([]byte(context), &applied); err != nil {
		return nil, err
	}
	return &configuration{applied.Roster(), context}, nil
}

// after returns the configuration after an event. Only our own config.applied changes it: a line of an imported log
// may claim anything.
func (c *configuration) after(e *eventstore.Event) *configuration {
	if e.Type != coordination.TypeConfigApplied || e.Actor == eventstore.ActorImport || e.Redacted() {
		return c
	}
	var applied coordination.ConfigApplied
	if json.Unmarshal(e.Data, &applied) != nil {
		return c
	}
	applied.Settings, applied.SettingsBytes = nil, 0 // unused by folds, and every checkpoint would contain them
	kept, err := json.Marshal(applied)
	if err != nil {
		return c
	}
	return &configuration{applied.Roster(), string(kept)}
}

// prepared is the result of Prepare.
type prepared struct {
	record coordination.Record
	scan   coordination.Scan
}

// Prepare implements eventstore.Inline.
func (g *Engine) Prepare(e *eventstore.Event) any { return prepare(g.opts.Rules, e) }

func prepare(rules coordination.Rules, e *eventstore.Event) *prepared {
	p := &prepared{record: Record(rules, e)}
	p.scan = coordination.ScanText(rules, &p.record)
	return p
}

// classify completes what Prepare began, with the configuration as of e, and with the times assigned by the store.
func classify(rules coordination.Rules, e *eventstore.Event, p *prepared, roster *coordination.Roster) Event {
	switch {
	case p.record.TimeSource == coordination.TimeFromRecorded:
		p.record.Time = float64(e.RecordedAt)
	case e.Original == nil:
		p.record.Time = float64(e.TS)
	}
	return Event{Event: Current(e), Record: p.record, Class: coordination.Classify(rules, &p.record, p.scan, roster), Roster: roster}
}

// Begin implements eventstore.Inline.
func (g *Engine) Begin(eventstore.Tx) {
	g.marked, g.atBegin = len(g.batch), g.config
	for _, u := range g.units {
		if u.def.Kind == Decision {
			for _, r := range u.rows {
				r.Mark()
			}
		}
	}
}

// Accept implements eventstore.Inline.
func (g *Engine) Accept(tx eventstore.Tx, e *eventstore.Event, ahead any) error {
	p, ok := ahead.(*prepared)
	if !ok {
		p = prepare(g.opts.Rules, e)
	}
	g.batch = append(g.batch, accepted{Event: classify(g.opts.Rules, e, p, g.config.roster)})
	last := &g.batch[len(g.batch)-1]
	event := &last.Event
	g.config = g.config.after(event.Event)
	last.config = g.config
	g.report(e)
	for _, u := range g.units {
		if u.def.Kind == Decision && u.state == Live {
			if err := u.apply(tx, event); err != nil {
				return &eventstore.RefusedError{Projection: u.def.Name, Type: e.Type, Err: err}
			}
		}
	}
	return nil
}

// Revert implements eventstore.Inline.
func (g *Engine) Revert() {
	clear(g.batch[g.marked:])
	g.batch = g.batch[:g.marked]
	g.config = g.atBegin
	for _, u := range g.units {
		if u.def.Kind == Decision {
			for _, r := range u.rows {
				r.Undo()
			}
		}
	}
}

// Settle implements eventstore.Inline.
func (g *Engine) Settle(tx eventstore.Tx) error {
	for _, u := range g.units {
		if u.def.Kind == Decision && u.state == Live {
			if err := u.flush(tx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush implements eventstore.Inline.
func (g *Engine) Flush(tx eventstore.Tx) error {
	if len(g.batch) == g.stored {
		return nil
	}
	head := g.batch[len(g.batch)-1].Seq
	for _, u := range g.units {
		if u.def.Kind != Decision || u.state != Live {
			continue
		}
		if err := u.flush(tx); err != nil {
			return err
		}
		if err := u.advance(tx, head, g.config.json); err != nil {
			return err
		}
	}
	return nil
}

// Committed implements eventstore.Inline.
func (g *Engine) Committed() {
	if n := len(g.batch); n > g.stored {
		g.head = g.batch[n-1].Seq
	}
	for _, u := range g.units {
		u.saved()
		if u.def.Kind == ReadModel && g.written == 0 {
			continue
		}
		for _, r := range u.rows {
			r.Trim()
		}
	}
	g.forget(g.written)
	g.committed = g.config
	if g.Written() >= g.head { // there may be no read model
		g.forget(len(g.batch))
	}
}

// forget drops the first n events of the batch, all of which are committed.
func (g *Engine) forget(n int) {
	if g.stored = len(g.batch); n == 0 {
		return
	}
	g.stored = copy(g.batch, g.batch[n:])
	clear(g.batch[g.stored:])
	g.batch = g.batch[:g.stored]
	g.written = 0
}

// Aborted implements eventstore.Inline.
func (g *Engine) Aborted() {
	clear(g.batch[g.stored:])
	g.batch = g.batch[:g.stored]
	g.forget(g.written) // the next attempt reads them from the log: memory stays bounded if it fails too
	for _, u := range g.units {
		u.forget()
		u.state, u.seq, u.context = u.before.state, u.before.seq, u.before.ctx
	}
	g.config = g.committed
}

// apply folds one event. A panic is treated as an error: a defect in a fold must not stop the log.
func (u *unit) apply(tx eventstore.Tx, e *Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return u.project.Apply(tx, e)
}

func (u *unit) flush(tx eventstore.Tx) error {
	for _, r := range u.rows {
		if err := r.Flush(tx); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) forget() {
	for _, r := range u.rows {
		r.Forget()
	}
}

func (u *unit) saved() { u.before.state, u.before.seq, u.before.ctx = u.state, u.seq, u.context }

// errMoved means that a second engine has moved the checkpoint of the same tables.
var errMoved = errors.New("another engine has moved the checkpoint")

// advance moves the checkpoint by compare-and-set.
func (u *unit) advance(tx eventstore.Tx, to int64, context string) error {
	var n int64
	var err error
	if context == u.context {
		n, err = tx.Exec("UPDATE projections SET seq = ? WHERE name = ? AND seq = ? AND version = ?", to, u.def.Name, u.seq, u.def.Version)
	} else {
		n, err = tx.Exec("UPDATE projections SET seq = ?, context = ? WHERE name = ? AND seq = ? AND version = ?",
			to, context, u.def.Name, u.seq, u.def.Version)
	}
	if err != nil {
		return err
	}
	if n != 1 {
		return errMoved
	}
	u.seq, u.context = to, context
	return nil
}
