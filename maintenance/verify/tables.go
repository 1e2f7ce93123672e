package verify

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// tables folds the whole log into a scratch file, and compares the tables with it: the fold goes as far as the
// projections have come, then on to where each is in one snapshot of the file, which is being written to meanwhile.
func (p *verifier) tables(ctx context.Context, out *Outcome) (err error) {
	head, err := p.Log.Head(ctx)
	if err != nil {
		return err
	}
	stored, err := database.Statuses(ctx, p.Log)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return &SkipError{"the file has no tables yet: openclawd serve builds them"}
	}
	state, err := asof.Open(ctx, asof.Options{Log: p.Log, Rules: p.Rules}, p.furthestBehind(stored, head.Seq), func(done, total int64) { p.Progress(Tables, done, total) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	return p.Log.View(ctx, func(tx *sql.Tx) error { return p.compareTables(ctx, tx, state, out) })
}

func (p *verifier) compareTables(ctx context.Context, tx *sql.Tx, state *asof.State, out *Outcome) error {
	var seq int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&seq); err != nil {
		return err
	}
	stored, err := projections.List(ctx, tx)
	if err != nil {
		return err
	}
	places := p.comparable(stored, seq, out)
	var counts []compare.Count
	for _, at := range slices.SortedFunc(slices.Values(places), func(a, b place) int { return cmp.Compare(a.seq, b.seq) }) {
		if err := p.foldTo(ctx, state, at.seq); err != nil {
			return err
		}
		found, err := compare.Tables(ctx, state, snapshot{tx}, []projections.Definition{at.Definition}, out.differs)
		if err != nil {
			return err
		}
		counts = append(counts, found...)
	}
	out.Counts = map[string]int64{"seq": seq, "projections": int64(len(places)), "tables": int64(len(counts)), "rows": 0}
	for i := range counts {
		out.Counts["rows"] += counts[i].Rows
		if counts[i].Differs() {
			out.Tables = append(out.Tables, counts[i])
		}
	}
	if out.Found > 0 {
		out.sumUpTables()
	} else if len(places) == 0 {
		return &SkipError{strings.Join(out.Notes, "; ")}
	}
	return nil
}

func (p *verifier) foldTo(ctx context.Context, state *asof.State, seq int64) error {
	if seq <= state.Until() {
		return nil
	}
	if err := state.Move(ctx, seq); err != nil {
		return err
	}
	return state.Fold.Run(ctx, p.Log, seq, nil)
}

// differs records a row that is not as the log says.
func (o *Outcome) differs(c compare.Change) error {
	if o.Found >= MaxFindings {
		o.Found++
		return nil
	}
	c.Columns = slices.Clone(c.Columns)
	o.find(Finding{What: describeRow(&c), Row: &c})
	return nil
}

// place is a projection whose tables must equal a rebuild, and the event that they reflect the log up to.
type place struct {
	projections.Definition
	seq int64
}

// furthestBehind is the first event at which tables will be compared: checkpoints only move forward.
func (p *verifier) furthestBehind(stored []projections.Status, head int64) int64 {
	for _, at := range p.comparable(stored, head, &Outcome{}) {
		head = min(head, at.seq)
	}
	return head
}

// comparable lists the projections whose tables must equal a rebuild. Those of a parked one do not: that is a fault.
// Read models are written after the events, so that they may be a little behind.
func (p *verifier) comparable(stored []projections.Status, seq int64, out *Outcome) (places []place) {
	for _, d := range database.Projections(p.Rules) {
		at := slices.IndexFunc(stored, func(s projections.Status) bool { return s.Name == d.Name })
		if at < 0 {
			out.addNote("projection %s is not in the file yet: openclawd serve builds it", d.Name)
			continue
		}
		switch s := &stored[at]; {
		case s.Version != d.Version:
			out.addNote("projection %s has version %s, this openclawd has %s: openclawd serve rebuilds it", d.Name, s.Version, d.Version)
		case s.State == projections.Parked:
			out.find(Finding{What: fmt.Sprintf("projection %s is parked: it could not apply event %d and stands at %d of %d: %s", d.Name, s.ParkedSeq, s.Seq, seq, s.ParkedError)})
		case s.State != projections.Live:
			out.addNote("projection %s is being rebuilt and stands at %d of %d", d.Name, s.Seq, seq)
		case s.Seq < seq && s.Kind == projections.ReadModel:
			out.addNote("projection %s stands at %d of %d and was verified there: the server that writes it is busy, or ended before it had; openclawd serve folds the rest", d.Name, s.Seq, seq)
			places = append(places, place{d, s.Seq})
		case s.Seq != seq:
			out.find(Finding{What: fmt.Sprintf("projection %s is live and stands at %d, the log ends at %d", d.Name, s.Seq, seq)})
		default:
			places = append(places, place{d, seq})
		}
	}
	return places
}

func (o *Outcome) sumUpTables() {
	o.Code, o.hint = "tables_differ", "openclawd projections rebuild rebuilds them from the log; find out what else wrote to the file"
	rows, in := int64(0), []string{}
	for i := range o.Tables {
		t := &o.Tables[i]
		rows += t.Added + t.Removed + t.Changed
		in = append(in, t.Table)
	}
	if rows == 0 {
		o.Why, o.hint = o.Findings[0].What, "openclawd projections list shows details; projections resume or rebuild repairs it"
		return
	}
	o.Why = fmt.Sprintf("%d rows differ from the log, in %s; the first: %s", rows, strings.Join(in, ", "), o.Findings[0].What)
	if rows == 1 {
		o.Why = "a row differs from the log: " + o.Findings[0].What
	}
}

// snapshot is a file as of the start of a transaction.
type snapshot struct{ tx *sql.Tx }

func (s snapshot) View(_ context.Context, read func(*sql.Tx) error) error { return read(s.tx) }

// describeRow says in one line how a row differs. Before is the value from the log, after the one found.
func describeRow(c *compare.Change) string {
	var key []string
	for _, k := range c.Key {
		key = append(key, k.Name+" "+shown(k.After))
	}
	text := fmt.Sprintf("%s of projection %s, row with %s", c.Table, c.Projection, strings.Join(key, ", "))
	switch c.Kind {
	case compare.Added:
		return text + ": not in the log"
	case compare.Removed:
		return text + ": is missing"
	}
	var columns []string
	for _, v := range c.Columns {
		columns = append(columns, fmt.Sprintf("%s is %s, not %s", v.Name, shown(v.After), shown(v.Before)))
	}
	return text + ": " + strings.Join(columns, "; ")
}

// shown renders a value as JSON, cut if it is long.
func shown(value any) string {
	const most = 60
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	s := string(text)
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
