package monitor

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// enriched are the members that classification sets on an event, and on its data. What was there under these names gives way.
func enriched(key string) bool {
	switch key {
	case "eventRole", "fromSessionType", "toSessionType", "collabCategory", "collabSubTags", "categoryConfidence", "categorySource":
		return true
	}
	return false
}

// renderEvent writes an event as its original record, enriched: members that we do not know, and the way in which numbers are written,
// stay as they were. entry is nil where the index has not come to the event; it is not enriched then.
//
// What we add on top (id, from, to, time, timeSource, collabSecondary, state, reason, displayText, redacted) gives way to a member of that name in the record; seq
// does not.
func (v *view) renderEvent(e *eventstore.Event, entry *index.Entry) json.RawMessage {
	e = projections.Current(e)
	r := v.record(e)
	o := newObject(len(e.Data) + len(e.Original) + 1_024)
	o.text("type", r.Type)
	own := map[string]bool{}
	if e.Original == nil {
		o.text("agentId", e.AgentID)
		o.integer("ts", e.TS)
	} else {
		o.members(e.Original, func(key string) bool {
			own[key] = true
			return key != "type" && key != "data" && key != "seq" && (entry == nil || !enriched(key))
		})
	}
	o.raw("data", renderData(e, entry, r.CollabIntent))
	if entry != nil {
		o.enrich(entry)
	}
	o.integer("seq", e.Seq)
	o.own = own
	o.text("id", e.ID.String())
	o.text("from", orUnknown(r.From()))
	if to := r.To(); to != "" {
		o.text("to", to)
	}
	o.number("time", r.Time)
	if r.TimeSource != coordination.TimeFromEvent {
		o.text("timeSource", r.TimeSource)
	}
	if e.Redacted() {
		o.raw("redacted", []byte("true"))
	}
	v.secondary(o, e, entry)
	v.describeEvent(o, &r)
	return o.end()
}

// secondary adds the categories that an event is of beside its own, strongest first.
func (v *view) secondary(o *object, e *eventstore.Event, entry *index.Entry) {
	if entry == nil {
		return
	}
	r := projections.Record(v.Rules, e) // its words as they are stored: those were classified
	list := coordination.SecondaryCategories(v.Rules, &r, entry.Category)
	text, err := json.Marshal(listOf(list))
	if err == nil { // texts always marshal
		o.raw("collabSecondary", text)
	}
}

// renderData writes the data of an event. Data that was no object, or is gone, is one without members.
func renderData(e *eventstore.Event, entry *index.Entry, intent string) []byte {
	o := newObject(len(e.Data) + 512)
	if e.Data != nil {
		o.members(e.Data, func(key string) bool {
			return entry == nil || !enriched(key) && key != "collabIntent" && key != "categoryVersion"
		})
	}
	if entry != nil {
		o.enrich(entry)
		if intent != "" {
			o.text("collabIntent", intent)
		}
		o.text("categoryVersion", entry.Version)
	}
	return o.end()
}

// describeEvent adds what the event says, as people should read it, and how it failed if it did.
func (v *view) describeEvent(o *object, r *coordination.Record) {
	said := coordination.ForPeople(coordination.Said(r), v.roster)
	state, reason := said.State, said.Reason
	if step := coordination.ThreadStep(r); step.Affects {
		state = step.Outcome
		if step.Reason != "" {
			reason = coordination.ForPeople(step.Reason, v.roster).Text
		}
	} else if r.Type == coordination.TypeTaskBlocked {
		state, reason = coordination.OutcomeBlocked, coordination.ForPeople(r.Reason, v.roster).Text
	}
	if state == coordination.OutcomeBlocked || state == coordination.OutcomeNoReply {
		o.text("state", string(state))
		if reason != "" {
			o.text("reason", reason)
		}
	}
	if said.Text != "" {
		o.text("displayText", said.Text)
	}
}

// record reads an event as the projections do, with the names that the bots know.
func (v *view) record(e *eventstore.Event) coordination.Record {
	r := projections.Record(v.Rules, e)
	v.wording().spoken(&r)
	return r
}

// timesHeld is how often a payload is in memory while an answer is made of it: as it was read and as it is understood, as data and as an event when
// it is rendered, each in a buffer that grows to twice of that, and as it is written.
const timesHeld = 8

// fetch reads events in the order of seqs while their payloads stay within MaxBytes together; what comes after is left out. The first
// is always read. Sizes are looked at before any payload is, and taken from what all reads may hold.
func (v *view) fetch(ctx context.Context, seqs []int64) (map[int64]*eventstore.Event, error) {
	sizes, err := index.PayloadSizes(ctx, v.tx, seqs)
	if err != nil {
		return nil, err
	}
	events := make(map[int64]*eventstore.Event, len(seqs))
	keep := func(wanted ...int64) (size int64, err error) {
		read, err := v.Store.EventsIn(ctx, v.tx, wanted)
		if err != nil {
			return 0, fmt.Errorf("read events: %w", err)
		}
		for i := range read {
			events[read[i].Seq] = &read[i]
			size += int64(len(read[i].Data) + len(read[i].Original))
		}
		return size, nil
	}
	bytes := int64(0)
	there := make([]int64, 0, len(seqs)) // in the file, and not read yet
	for n, seq := range seqs {
		size := sizes[seq]
		_, had := events[seq]
		if size == 0 { // how much an archive has of it shows when it is read
			if size, err = keep(seq); err != nil {
				return nil, err
			}
			if err := budget.Take(ctx, timesHeld*size); err != nil {
				return nil, err
			}
		}
		if bytes += size; bytes > int64(v.MaxBytes) && n > 0 {
			if !had {
				delete(events, seq)
			}
			break
		}
		if sizes[seq] > 0 {
			if err := budget.Take(ctx, timesHeld*size); err != nil {
				return nil, err
			}
			there = append(there, seq)
		}
	}
	_, err = keep(there...)
	return events, err
}

// object writes a JSON object, member by member.
type object struct {
	b   []byte
	own map[string]bool // members that are there already and are not written again
}

func newObject(size int) *object { return &object{b: append(make([]byte, 0, size), '{')} }

func (o *object) key(key string) bool {
	if o.own[key] {
		return false
	}
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = appendString(o.b, key)
	o.b = append(o.b, ':')
	return true
}

func (o *object) raw(key string, value []byte) {
	if o.key(key) {
		o.b = append(o.b, value...)
	}
}

func (o *object) text(key, value string) {
	if o.key(key) {
		o.b = appendString(o.b, value)
	}
}

func (o *object) integer(key string, value int64) {
	if o.key(key) {
		o.b = strconv.AppendInt(o.b, value, 10)
	}
}

// number writes a finite number as ECMAScript does.
func (o *object) number(key string, value float64) {
	if o.key(key) {
		o.b = appendNumber(o.b, value)
	}
}

// members copies those members of a JSON object that keep agrees to, as they are written. Of several with one name the last counts and
// stands where the first did, as in ECMAScript.
func (o *object) members(object []byte, keep func(key string) bool) {
	type member struct {
		key string
		raw []byte
	}
	var list []member
	at := map[string]int{}
	// What is in the log is valid JSON: EachField cannot fail.
	_ = coordination.EachField(object, func(key string, raw []byte) bool {
		if i, again := at[key]; again {
			list[i].raw = raw
		} else if keep(key) {
			at[key] = len(list)
			list = append(list, member{key, raw})
		}
		return true
	})
	for _, m := range list {
		o.raw(m.key, m.raw)
	}
}

func (o *object) enrich(entry *index.Entry) {
	o.text("eventRole", string(entry.Role))
	o.text("fromSessionType", string(entry.From))
	o.text("toSessionType", string(entry.To))
	o.text("collabCategory", string(entry.Category))
	o.raw("collabSubTags", entry.SubTags)
	o.number("categoryConfidence", entry.Confidence)
	o.text("categorySource", string(entry.Source))
}

func (o *object) end() []byte { return append(o.b, '}') }

func appendNumber(b []byte, value float64) []byte {
	if magnitude := math.Abs(value); magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21) {
		return strconv.AppendFloat(b, value, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, value, 'f', -1, 64)
}

// appendString writes a JSON string with the escapes that JSON demands and no others.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		if c >= ' ' {
			b = append(b, '\\', c)
		} else {
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
