package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/index"
)

// rendering is an event as answers show it.
type rendering struct {
	text     json.RawMessage // without blanks between its members
	from, to string          // "" if not named
	typ      string
	time     float64
	said     string // coordination.Said
	size     int64  // of its payload, in bytes

	tasks  []string // ids that its data may name
	titles []title  // what text depends on

	line atomic.Pointer[string] // said in one line; nil: not made yet
}

// title is a title of a task that a rendering has asked for.
type title struct{ taskID, text string }

// Limits of what a server keeps of renderings, in bytes.
const (
	keptRenderingsBytes = 16 << 20
	keptRenderingBytes  = 64 << 10 // of one
)

// renderings are kept for as long as stored events and their classification stay what they are, and the team too.
// Appends leave them, commits that do more remove them all. A rendering that depends on anything else is not kept, except
// for titles of tasks, which are compared when it is used.
type renderings struct {
	mu    sync.Mutex
	of    epoch
	kept  map[int64]*rendering
	bytes int64
}

// epoch is what all kept renderings depend on.
type epoch struct {
	rewrites uint64
	roster   *coordination.Roster
}

// cost is the memory that a rendering holds, about.
func (r *rendering) cost() int64 {
	const overhead, perText = 320, 48
	n := overhead + int64(cap(r.text)+len(r.from)+len(r.to)+len(r.typ)+2*len(r.said))
	for _, id := range r.tasks {
		n += perText + int64(len(id))
	}
	for i := range r.titles {
		n += perText + int64(len(r.titles[i].taskID)+len(r.titles[i].text))
	}
	return n
}

// get returns the kept ones of events.
func (k *renderings) get(of epoch, seqs []int64) map[int64]*rendering {
	found := make(map[int64]*rendering, len(seqs))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of != of {
		return found
	}
	for _, seq := range seqs {
		if r := k.kept[seq]; r != nil {
			found[seq] = r
		}
	}
	return found
}

// put keeps renderings. Those of an earlier epoch are dropped, and if there is no room any others.
func (k *renderings) put(of epoch, made map[int64]*rendering) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case of.rewrites < k.of.rewrites:
		return
	case of != k.of || k.kept == nil:
		k.of, k.kept, k.bytes = of, map[int64]*rendering{}, 0
	}
	for seq, r := range made {
		cost := r.cost()
		if cost > keptRenderingBytes {
			continue
		}
		if old := k.kept[seq]; old != nil {
			k.bytes -= old.cost()
		}
		k.kept[seq] = r
		k.bytes += cost
	}
	for seq, r := range k.kept {
		if k.bytes <= keptRenderingsBytes {
			break
		}
		k.bytes -= r.cost()
		delete(k.kept, seq)
	}
}

// render reads events as fetch does and renders them. What is kept is neither read nor rendered.
func (v *view) render(ctx context.Context, seqs []int64) (map[int64]*rendering, error) {
	known := map[int64]*rendering{}
	of := epoch{v.mark.Rewrites, v.roster}
	if v.mark.Intact() {
		known = v.rendered.get(of, seqs)
	}
	events, n, blank, err := v.load(ctx, seqs, known)
	if err != nil {
		return nil, err
	}
	shown := make(map[int64]*rendering, n)
	for _, seq := range seqs[:n] {
		if r := known[seq]; r != nil {
			shown[seq] = r
		}
	}
	if err := v.readTitles(ctx, taskIDs(events, shown)); err != nil {
		return nil, err
	}
	if err := v.reload(ctx, events, shown); err != nil {
		return nil, err
	}
	entries, err := v.entriesOf(ctx, events)
	if err != nil {
		return nil, err
	}
	made := make(map[int64]*rendering, len(events))
	for seq, e := range events {
		r, isFixed := v.renderingOf(e, entries[seq])
		if shown[seq] = r; isFixed && !blank[seq] {
			made[seq] = r
		} else {
			v.varies = true
		}
	}
	if v.mark.Intact() && len(made) > 0 {
		v.rendered.put(of, made)
	}
	return shown, nil
}

// taskIDs lists the tasks that events may name.
func taskIDs(events map[int64]*eventstore.Event, shown map[int64]*rendering) (ids []string) {
	for _, e := range events {
		ids = append(ids, coordination.TaskIDs(e.Data)...)
	}
	for _, r := range shown {
		ids = append(ids, r.tasks...)
	}
	return ids
}

// reload moves from shown to events what was rendered with other titles of tasks than those of now.
func (v *view) reload(ctx context.Context, events map[int64]*eventstore.Event, shown map[int64]*rendering) error {
	var stale []int64
	for seq, r := range shown {
		if slices.ContainsFunc(r.titles, func(t title) bool { return v.titles[t.taskID] != t.text }) {
			stale = append(stale, seq)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	read, err := v.Store.EventsIn(ctx, v.tx, stale)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	for i := range read {
		events[read[i].Seq] = &read[i]
		delete(shown, read[i].Seq)
	}
	return nil
}

func (v *view) entriesOf(ctx context.Context, events map[int64]*eventstore.Event) (map[int64]*index.Entry, error) {
	if len(events) == 0 {
		return nil, nil
	}
	seqs := make([]int64, 0, len(events))
	for seq := range events {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	return index.Entries(ctx, v.tx, seqs)
}

// renderingOf renders an event. isFixed is false if the result depends on more than renderings keep account of.
func (v *view) renderingOf(e *eventstore.Event, entry *index.Entry) (r *rendering, isFixed bool) {
	outer := v.asks
	v.asks = &asks{}
	record := v.record(e)
	text := v.renderEvent(e, entry)
	var compact bytes.Buffer
	compact.Grow(len(text))
	if json.Compact(&compact, text) == nil { // the log contains valid JSON
		text = compact.Bytes()
	}
	r = &rendering{text: text, from: record.From(), to: record.To(), typ: record.Type, time: record.Time, said: coordination.Said(&record),
		size: int64(len(e.Data) + len(e.Original)), tasks: coordination.TaskIDs(e.Data), titles: v.asks.titles}
	isFixed = entry != nil && !v.asks.beyond
	v.asks = outer
	return r, isFixed
}

// asks records what the rendering of an event has asked for beside the event, its entry and the team.
type asks struct {
	titles []title
	beyond bool // names or bots
}

// askedBeyond records that an answer depends on what is not in the log.
func (v *view) askedBeyond() {
	v.varies = true
	if v.asks != nil {
		v.asks.beyond = true
	}
}

// titleOf is the title of a task that the events of the answer name; "" for others.
func (v *view) titleOf(taskID string) string {
	text := v.titles[taskID]
	if v.asks != nil {
		v.asks.titles = append(v.asks.titles, title{taskID, text})
	}
	return text
}

// inLine is what the event said, in one line.
func (r *rendering) inLine(roster *coordination.Roster) string {
	if line := r.line.Load(); line != nil {
		return *line
	}
	line := coordination.LineForPeople(r.said, roster, previewLength)
	r.line.Store(&line)
	return line
}
