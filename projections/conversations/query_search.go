package conversations

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// search finds the candidates of a query.
type search struct {
	tx    *sql.Tx
	kinds *Kinds
	query *Query
}

// newest ranks candidates from the newest on until the page cannot change any more.
func (s *search) newest(ctx context.Context, page *ranking, counted counts) error {
	w := walk{tx: s.tx, lists: s.kinds.lists(), from: math.MinInt64, to: math.MaxInt64}
	byCategory := false
	if len(s.query.Categories) > 0 {
		inCategory := int64(0)
		for _, c := range s.query.Categories {
			inCategory += counted.all[c]
		}
		byCategory = s.kinds.all || inCategory < sum(counted.listed)
	}
	if byCategory {
		w.lists = categoryLists(s.query.Categories)
	}
	// A category's list is ordered by all events of a session, which may be later than those that are listed.
	if page.after != nil && (s.kinds.all || !byCategory) {
		w.to = Slot(page.after.Last)
	}
	if s.onlyArchived() {
		w.to = min(w.to, s.archivedSlot())
	}
	return s.each(ctx, &w, func(c *candidate) {
		if s.query.passes(c) && allows(s.query.Categories, c.category) {
			page.add(*c)
		}
	}, page.settled)
}

// gather ranks all candidates of a source and counts by category those that pass.
func (s *search) gather(ctx context.Context, page *ranking, source func(context.Context, func(*candidate)) error) (map[string]int64, error) {
	passed := map[string]int64{}
	return passed, source(ctx, func(c *candidate) {
		if !s.query.passes(c) {
			return
		}
		passed[c.category]++
		if allows(s.query.Categories, c.category) {
			page.add(*c)
		}
	})
}

// takeOut subtracts from the census the sessions that do not match. Sessions that are neither recent nor open are
// archived and finished, which matches. If only archived ones do, those of the hours after the bound are counted, and only those of the
// hour that contains it are read.
func (s *search) takeOut(ctx context.Context, categories map[string]int64) error {
	take := func(category string, n int64) {
		if categories[category] -= n; categories[category] == 0 {
			delete(categories, category)
		}
	}
	seen := map[int64]bool{}
	visit := func(c *candidate) {
		if !c.isListed || seen[c.id] || s.query.passes(c) {
			return
		}
		seen[c.id] = true
		take(c.category, 1)
	}
	counts := false // else, until the tables are rebuilt after an update, there are no counts by hour
	if s.onlyArchived() {
		if err := s.tx.QueryRowContext(ctx, hasCensusByHour).Scan(&counts); err != nil {
			return err
		}
	}
	switch bound := Hour(s.query.Now - coordination.ArchiveAfterMs); {
	case counts:
		counted, err := s.kinds.censusAfter(ctx, s.tx, bound)
		if err != nil {
			return err
		}
		for category, n := range counted.listed {
			take(category, n)
		}
		one := visit
		visit = func(c *candidate) {
			if Hour(c.last) <= bound { // else it is counted
				one(c)
			}
		}
		w := walk{tx: s.tx, lists: categoryLists(nil), from: s.archivedSlot(), to: (bound+1)*(HourMs/SlotMs) - 1}
		if err := s.each(ctx, &w, visit, toTheEnd); err != nil {
			return err
		}
	case len(s.query.Statuses) > 0:
		if err := s.recent(ctx, visit); err != nil {
			return err
		}
	}
	if s.query.Open != nil {
		return s.opened(ctx, visit)
	}
	return nil
}

// onlyArchived reports whether the query selects archived sessions and no others by their status.
func (s *search) onlyArchived() bool {
	return slices.Equal(s.query.Statuses, []coordination.Status{coordination.StatusArchived})
}

// recent visits the sessions that are not archived, and maybe some that are.
func (s *search) recent(ctx context.Context, visit func(*candidate)) error {
	w := walk{tx: s.tx, lists: categoryLists(nil), from: s.archivedSlot(), to: math.MaxInt64}
	return s.each(ctx, &w, visit, toTheEnd)
}

// archivedSlot is the slot that holds the last archived and the first other sessions.
func (s *search) archivedSlot() int64 { return Slot(s.query.Now - coordination.ArchiveAfterMs) }

// timed visits the sessions whose last listed event is within the time range, and maybe more.
func (s *search) timed(ctx context.Context, visit func(*candidate)) error {
	w := walk{tx: s.tx, lists: s.kinds.lists(), from: math.MinInt64, to: math.MaxInt64}
	if s.query.Since != nil {
		w.from = Slot(*s.query.Since)
	}
	if s.query.Until != nil {
		w.to = Slot(*s.query.Until)
	}
	return s.each(ctx, &w, visit, toTheEnd)
}

// tagged visits the sessions with the tag.
func (s *search) tagged(ctx context.Context, visit func(*candidate)) error {
	w := walk{tx: s.tx, lists: []string{TagList(s.query.Tag)}, from: math.MinInt64, to: math.MaxInt64}
	return s.each(ctx, &w, visit, toTheEnd)
}

func toTheEnd(float64) bool { return false }

// candidatesAtOnce bounds the candidates per statement.
const candidatesAtOnce = 4_096

// each visits the sessions of a walk once. It stops when settled, given a time that all remaining sessions are below,
// returns true.
func (s *search) each(ctx context.Context, w *walk, visit func(*candidate), settled func(below float64) bool) error {
	seen := map[int64]bool{}
	for {
		ids, below, err := w.next(ctx)
		if err != nil || below == nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return seen[id] })
		for _, id := range ids {
			seen[id] = true
		}
		for some := range slices.Chunk(ids, candidatesAtOnce) {
			if err := s.readCandidates(ctx, some, visit); err != nil {
				return err
			}
		}
		if settled(*below) {
			return nil
		}
	}
}

// selectCandidates reads flows and runs only if they matter: for sessions that end with their latest event, from a
// time on.
const selectCandidates = `SELECT w.id, w.base_time, w.last_time, w.category, w.latest_terminal,
 CASE WHEN w.open_threads + w.open_tasks > 0 THEN 1 WHEN w.latest_terminal AND w.last_time >= ? THEN ` + isBusy + ` ELSE 0 END, w.kinds
 FROM json_each(?) j CROSS JOIN work_sessions w ON w.id = j.value`

// readCandidates reads the candidates of sessions.
func (s *search) readCandidates(ctx context.Context, ids []int64, visit func(*candidate)) error {
	if s.query.filtersStanding() {
		return s.readStanding(ctx, ids, visit)
	}
	rows, err := s.tx.QueryContext(ctx, selectCandidates, s.statusMatters(), projections.JSONList(ids))
	if err != nil {
		return fmt.Errorf("read candidates: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c candidate
		var base float64
		var kinds string
		if err := rows.Scan(&c.id, &base, &c.last, &c.category, &c.terminal, &c.open, &kinds); err != nil {
			return fmt.Errorf("read candidate: %w", err)
		}
		if err := s.list(&c, base, kinds); err != nil {
			return err
		}
		visit(&c)
	}
	return rows.Err()
}

// list determines whether and at what time a candidate is listed.
func (s *search) list(c *candidate, base float64, kinds string) error {
	if c.listed, c.isListed = c.last, s.kinds.all; s.kinds.all {
		return nil
	}
	held, err := parseKinds(kinds)
	if err != nil {
		return fmt.Errorf("kinds of session %d: %w", c.id, err)
	}
	x := s.kinds.extent(base, held)
	c.listed, c.isListed = x.Last, x.Events > 0
	return nil
}

// statusMatters is the time from which on sessions are active or quiet, if the query asks for one of these.
func (s *search) statusMatters() float64 {
	if len(s.query.Statuses) == 0 {
		return math.MaxFloat64
	}
	return s.query.Now - coordination.ArchiveAfterMs
}

// walk goes through session_slots from the newest slot to the oldest, skipping slots without an entry in a list.
type walk struct {
	tx       *sql.Tx
	lists    []string
	from, to int64 // slots, inclusive
	width    int64 // of the last step
}

const (
	selectNextSlot = `SELECT max((SELECT l.slot FROM list_slots l WHERE l.list = j.value AND l.slot <= ? ORDER BY l.slot DESC LIMIT 1))
 FROM json_each(?) j`
	selectSlots = "SELECT session_id, lists FROM session_slots WHERE slot >= ? AND slot <= ?"
)

// maxStep bounds how many slots one step takes: about a week.
const maxStep = 1_024

// next returns the sessions of some more slots; some may have been returned before. The remaining ones are below the
// returned time. A nil time is the end.
func (w *walk) next(ctx context.Context) (ids []int64, below *float64, err error) {
	if w.to < w.from {
		return nil, nil, nil
	}
	var high sql.NullInt64
	if err := w.tx.QueryRowContext(ctx, selectNextSlot, w.to, projections.JSONList(w.lists)).Scan(&high); err != nil {
		return nil, nil, fmt.Errorf("find slot: %w", err)
	}
	if !high.Valid || high.Int64 < w.from {
		return nil, nil, nil
	}
	w.width = min(max(2*w.width, 1), maxStep)
	low := w.from
	if high.Int64 >= math.MinInt64+w.width {
		low = max(low, high.Int64-w.width+1)
	}
	if ids, err = w.read(ctx, low, high.Int64); err != nil {
		return nil, nil, fmt.Errorf("read slots: %w", err)
	}
	ms := float64(low) * SlotMs
	if w.to = low - 1; low == math.MinInt64 {
		w.from, w.to = 0, -1
	}
	return ids, &ms, nil
}

func (w *walk) read(ctx context.Context, low, high int64) ([]int64, error) {
	rows, err := w.tx.QueryContext(ctx, selectSlots, low, high)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	// Quoted as in the column, a name can be searched for without parsing the JSON.
	names := make([][]byte, len(w.lists))
	for i, list := range w.lists {
		names[i] = appendText(nil, list)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		var lists sql.RawBytes
		if err := rows.Scan(&id, &lists); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(names, func(name []byte) bool { return bytes.Contains(lists, name) }) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), rows.Err()
}
