package conversations

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// SlotMs is the width of a slot of session_slots.
const SlotMs = 600_000

// Slot returns the slot of a time in ms.
func Slot(ms float64) int64 { return int64(math.Floor(projections.ClampTime(ms) / SlotMs)) }

// HourMs is the width of a row of session_hours.
const HourMs = 6 * SlotMs

// Hour returns the hour of a time in ms.
func Hour(ms float64) int64 { return int64(math.Floor(projections.ClampTime(ms) / HourMs)) }

// KindList, CategoryList and TagList name the lists of session_slots.
func KindList(kind int64) string                         { return strconv.FormatInt(kind, 10) }
func CategoryList(category coordination.Category) string { return "@" + string(category) }
func TagList(tag string) string                          { return "#" + strings.ToLower(tag) }

// listing maintains the tables by which work sessions are found and counted: the newest by kind of event, category and
// tag, the census, and the census by the hour of the last event. Each of their rows depends on sessions that may change, so every flush removes a changed
// session's old contribution and adds the new one.
type listing struct {
	slots   *projections.Table[slotKey, slot]
	lists   *projections.Table[listKey, list]
	census  *projections.Table[censusKey, census]
	hours   *projections.Table[hourKey, hour]
	changed []*session
}

// contribution is a session's contribution to the listing tables.
type contribution struct {
	exists    bool
	places    []place
	signature string
	category  coordination.Category
	hour      int64 // of its last event
}

// place is a session's position in one list.
type place struct {
	list string
	slot int64
}

// listing returns the current contribution of s.
func (s *session) listing() *contribution {
	now := &contribution{exists: s.events > 0}
	if !now.exists {
		return now
	}
	now.category, now.signature, now.hour = s.category(), s.signature(), Hour(s.last)
	tags, last := s.tally.tags(), Slot(s.last)
	now.places = make([]place, 0, 1+len(tags)+len(s.kinds))
	now.places = append(now.places, place{CategoryList(now.category), last})
	for _, tag := range tags {
		if p := (place{TagList(tag), last}); !slices.Contains(now.places, p) {
			now.places = append(now.places, p)
		}
	}
	for _, k := range s.kinds {
		now.places = append(now.places, place{KindList(k.kind), Slot(s.base + k.last)})
	}
	return now
}

// touch saves the contribution of s as the tables have it, before s changes for the first time since they were
// written.
func (l *listing) touch(s *session) {
	if s.listed == nil {
		s.listed = s.listing()
		l.changed = append(l.changed, s)
	}
}

// Flush implements projections.Rows. The rows that it changes are flushed after it.
func (l *listing) Flush(tx eventstore.Tx) error {
	for _, s := range l.changed {
		if err := l.relist(tx, s); err != nil {
			return fmt.Errorf("list session %d: %w", s.id, err)
		}
		s.listed = nil
	}
	clear(l.changed)
	l.changed = l.changed[:0]
	return nil
}

func (l *listing) relist(tx eventstore.Tx, s *session) error {
	was, is := s.listed, s.listing()
	for _, p := range was.places {
		if !slices.Contains(is.places, p) {
			if err := l.leave(tx, s.id, p); err != nil {
				return err
			}
		}
	}
	for _, p := range is.places {
		if !slices.Contains(was.places, p) {
			edit := l.slots.Edit
			if !was.exists {
				edit = l.slots.EditNew
			}
			if err := l.enter(tx, s.id, p, edit); err != nil {
				return err
			}
		}
	}
	same := was.exists && was.signature == is.signature && was.category == is.category
	if same && was.hour == is.hour {
		return nil
	}
	if err := l.countHour(tx, was, is); err != nil || same {
		return err
	}
	if was.exists {
		if err := l.count(tx, was, -1); err != nil {
			return err
		}
	}
	return l.count(tx, is, +1)
}

func (l *listing) countHour(tx eventstore.Tx, was, is *contribution) error {
	for _, c := range [...]struct {
		of *contribution
		by int64
	}{{was, -1}, {is, +1}} {
		if !c.of.exists {
			continue
		}
		key := hourKey{c.of.hour, censusKey{c.of.signature, string(c.of.category)}}
		row, _, err := l.hours.Edit(tx, key)
		if err != nil {
			return err
		}
		row.hourKey = key
		row.n += c.by
	}
	return nil
}

func (l *listing) enter(tx eventstore.Tx, session int64, p place, edit func(eventstore.Tx, slotKey) (*slot, bool, error)) error {
	key := slotKey{p.slot, session}
	row, _, err := edit(tx, key)
	if err != nil {
		return err
	}
	row.slotKey = key
	if at, found := slices.BinarySearch(row.lists, p.list); !found {
		row.lists = slices.Insert(row.lists, at, p.list)
	}
	return l.countList(tx, p, +1)
}

func (l *listing) leave(tx eventstore.Tx, session int64, p place) error {
	row, _, err := l.slots.Edit(tx, slotKey{p.slot, session})
	if err != nil {
		return err
	}
	row.lists = slices.DeleteFunc(row.lists, func(list string) bool { return list == p.list })
	return l.countList(tx, p, -1)
}

func (l *listing) countList(tx eventstore.Tx, p place, by int64) error {
	key := listKey{p.slot, p.list}
	row, _, err := l.lists.Edit(tx, key)
	if err == nil {
		row.listKey = key
		row.n += by
	}
	return err
}

func (l *listing) count(tx eventstore.Tx, as *contribution, by int64) error {
	key := censusKey{as.signature, string(as.category)}
	row, _, err := l.census.Edit(tx, key)
	if err == nil {
		row.censusKey = key
		row.n += by
	}
	return err
}

// Mark and Undo are used by decision tables only.
func (l *listing) Mark() {}
func (l *listing) Undo() {}

func (l *listing) Forget() {
	clear(l.changed)
	l.changed = l.changed[:0]
}

func (l *listing) Trim() {}

// slot is a row of session_slots: the lists that contain a session at one slot.
type slot struct {
	slotKey
	lists []string // ascending
}

type slotKey struct{ slot, session int64 }

func newSlots(table string) *projections.Table[slotKey, slot] {
	return projections.NewTable(projections.Columns[slotKey, slot]{
		Table: table, Names: []string{"slot", "session_id", "lists"}, Key: 2, Fixed: 2, Keep: 8_000,
		Empty:  func(r *slot) bool { return len(r.lists) == 0 },
		Lookup: "slot = ? AND session_id = ?", LookUp: func(k slotKey) []any { return []any{k.slot, k.session} },
		Scan: func(r eventstore.Row, s *slot) error {
			s.slotKey = slotKey{r.Int(0), r.Int(1)}
			return json.Unmarshal([]byte(r.Text(2)), &s.lists)
		},
		Args: func(args []any, s *slot) []any {
			b := append(make([]byte, 0, 16*len(s.lists)+2), '[')
			for i, list := range s.lists {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendText(b, list)
			}
			return append(args, s.slot, s.session, string(append(b, ']')))
		},
	})
}

// list is a row of list_slots: the number of sessions in a list at one slot.
type list struct {
	listKey
	n int64
}

type listKey struct {
	slot int64
	list string
}

func newLists(table string) *projections.Table[listKey, list] {
	return projections.NewTable(projections.Columns[listKey, list]{
		Table: table, Names: []string{"slot", "list", "n"}, Key: 2, Fixed: 2, Keep: 5_000,
		Empty:  func(r *list) bool { return r.n == 0 },
		Lookup: "slot = ? AND list = ?", LookUp: func(k listKey) []any { return []any{k.slot, k.list} },
		Scan: func(r eventstore.Row, l *list) error {
			*l = list{listKey: listKey{r.Int(0), r.Text(1)}, n: r.Int(2)}
			return nil
		},
		Args: func(args []any, l *list) []any { return append(args, l.slot, l.list, l.n) },
	})
}

// census is a row of session_census: the number of sessions with the same kinds of events and the same category.
type census struct {
	censusKey
	n int64
}

type censusKey struct{ signature, category string }

func newCensus(table string) *projections.Table[censusKey, census] {
	return projections.NewTable(projections.Columns[censusKey, census]{
		Table: table, Names: []string{"signature", "category", "n"}, Key: 2, Fixed: 2, Keep: 5_000,
		Empty:  func(r *census) bool { return r.n == 0 },
		Lookup: "signature = ? AND category = ?", LookUp: func(k censusKey) []any { return []any{k.signature, k.category} },
		Scan: func(r eventstore.Row, c *census) error {
			*c = census{censusKey: censusKey{r.Text(0), r.Text(1)}, n: r.Int(2)}
			return nil
		},
		Args: func(args []any, c *census) []any { return append(args, c.signature, c.category, c.n) },
	})
}

// hour is a row of session_hours: census of the sessions whose last event was in an hour.
type hour struct {
	hourKey
	n int64
}

type hourKey struct {
	hour int64
	censusKey
}

func newHours(table string) *projections.Table[hourKey, hour] {
	return projections.NewTable(projections.Columns[hourKey, hour]{
		Table: table, Names: []string{"hour", "signature", "category", "n"}, Key: 3, Fixed: 3, Keep: 5_000,
		Empty:  func(r *hour) bool { return r.n == 0 },
		Lookup: "hour = ? AND signature = ? AND category = ?",
		LookUp: func(k hourKey) []any { return []any{k.hour, k.signature, k.category} },
		Scan: func(r eventstore.Row, h *hour) error {
			*h = hour{hourKey{r.Int(0), censusKey{r.Text(1), r.Text(2)}}, r.Int(3)}
			return nil
		},
		Args: func(args []any, h *hour) []any { return append(args, h.hour, h.signature, h.category, h.n) },
	})
}
