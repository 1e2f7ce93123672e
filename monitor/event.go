package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// enriched are the members that classification adds to an event and its data. They replace members of the same name.
func enriched(key string) bool {
	switch key {
	case "eventRole", "fromSessionType", "toSessionType", "collabCategory", "collabSubTags", "categoryConfidence", "categorySource":
		return true
	}
	return false
}

// renderEvent encodes an event as its original record plus classification: unknown members and number formats are
// preserved. entry is nil if the index has not reached the event; then nothing is added.
//
// Our additions (id, from, to, time, timeSource, collabSecondary, state, reason, reasonCode, displayText, displayParts, isError, internal, redacted) yield to
// members of the same name in the record; seq does not.
func (v *view) renderEvent(e *eventstore.Event, entry *index.Entry) json.RawMessage {
	e = projections.Current(e)
	stored := projections.Record(v.Rules, e) // the stored text, which is what was classified
	r := v.spoken(stored)
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
	if internal(e) {
		o.raw("internal", []byte("true"))
	}
	v.secondary(o, &stored, entry)
	v.describeEvent(o, &r, e.Data)
	v.addParts(o, e, &stored, &r)
	return o.end()
}

// secondary adds the event's secondary categories, strongest first.
func (v *view) secondary(o *object, stored *coordination.Record, entry *index.Entry) {
	if entry == nil {
		return
	}
	list := coordination.SecondaryCategories(v.Rules, stored, entry.Category)
	text, err := json.Marshal(listOf(list))
	if err == nil { // encoding text cannot fail
		o.raw("collabSecondary", text)
	}
}

// renderData encodes an event's data. Data that is no object, or is gone, becomes an empty object.
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

// describeEvent adds the event's readable text, and its error if it has one.
func (v *view) describeEvent(o *object, r *coordination.Record, data []byte) {
	said := coordination.ForPeople(coordination.Words(r), v.roster)
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
	if code := reasonCode(r, state); code != "" {
		o.text("reasonCode", string(code))
	}
	text := said.Text
	if text == "" {
		title, said := coordination.About(r, data, v.roster, directory{v}.TaskTitle)
		if text = title + said; title != "" && said != "" {
			text = title + aboutMark + said
		}
	}
	if text != "" {
		o.text("displayText", text)
	}
	if _, failed := coordination.Failure(r); failed {
		o.raw("isError", []byte("true"))
	}
}

// aboutMark stands between what an event is about and what its agent said.
const aboutMark = ": "

// addParts adds the event's readable text in parts, if it mentions users or names tasks.
func (v *view) addParts(o *object, e *eventstore.Event, stored, r *coordination.Record) {
	words := coordination.Words(stored)
	parts := coordination.PartsForPeople(words, v.roster, directory{v})
	if words == "" {
		parts = v.partsAbout(e, r)
	}
	if len(parts) == 0 {
		return
	}
	text, err := encode(parts)
	if err == nil { // encoding text cannot fail
		o.raw("displayParts", text)
	}
}

// partsAbout are the parts of the text of an event about a task whose title is known.
func (v *view) partsAbout(e *eventstore.Event, r *coordination.Record) []coordination.Part {
	title, said := coordination.About(r, e.Data, v.roster, directory{v}.TaskTitle)
	if title == "" || title != v.titleOf(r.TaskID) {
		return nil
	}
	parts := []coordination.Part{{Ref: &coordination.RefPart{Kind: coordination.RefTask, ID: r.TaskID, Title: title}}}
	if said != "" {
		parts = append(parts, coordination.Part{Text: aboutMark + said})
	}
	return parts
}

// directory knows users by the bots and the configuration, and tasks by the titles read with the events.
type directory struct{ *view }

func (d directory) Mentioned(userID string) coordination.MentionPart {
	who := d.roster.Mentioned(userID)
	if agent := d.botAgents()[userID]; agent != "" {
		who.AgentID, who.Name = agent, cmp.Or(d.roster.Name(agent), who.Name)
	}
	if written := "<@" + userID + ">"; who.Name == "" {
		if shown := d.wording().live(written); shown != written {
			who.Name = strings.TrimPrefix(shown, "@")
		}
	}
	return who
}

// botAgents are the agents of the Discord bots by user id, read once per answer.
func (v *view) botAgents() map[string]string {
	if v.Bots != nil {
		v.askedBeyond()
	}
	if v.bots == nil {
		v.bots = map[string]string{}
		if v.Bots != nil {
			for _, b := range v.Bots() {
				if b.AgentID != "" && b.UserID != "" {
					v.bots[b.UserID] = b.AgentID
				}
			}
		}
	}
	return v.bots
}

func (d directory) TaskTitle(taskID string) string { return d.titleOf(taskID) }

// readTitles reads the titles of tasks.
func (v *view) readTitles(ctx context.Context, named []string) error {
	var ids []string
	slices.Sort(named)
	for _, id := range slices.Compact(named) {
		if _, known := v.titles[id]; !known {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := tasks.Labels(ctx, v.tx, ids)
	if err != nil {
		return err
	}
	if v.titles == nil {
		v.titles = map[string]string{}
	}
	for _, id := range ids {
		v.titles[id] = coordination.TaskTitle(found[id].Description, v.roster)
	}
	return nil
}

// reasonCode is the code of an event's failure, also of a failed run or attempt, which has no state.
func reasonCode(r *coordination.Record, state coordination.Outcome) coordination.ReasonCode {
	code := coordination.ReasonOf(r)
	if code == "" && (state == coordination.OutcomeBlocked || state == coordination.OutcomeNoReply) {
		return coordination.ReasonOther
	}
	return code
}

// record parses an event as projections do, with the names known to the bots.
func (v *view) record(e *eventstore.Event) coordination.Record {
	return v.spoken(projections.Record(v.Rules, e))
}

func (v *view) spoken(r coordination.Record) coordination.Record {
	v.wording().spoken(&r)
	return r
}

// timesHeld is how many copies of a payload are in memory while an answer is built: read, parsed, rendered as data and
// as an event (in buffers that grow up to double), and encoded.
const timesHeld = 8

// fetch reads events in the order of seqs until their payloads exceed MaxBytes; the rest is left out. The first is
// always read. Sizes are checked before payloads are read, and taken from the shared memory budget.
func (v *view) fetch(ctx context.Context, seqs []int64) (map[int64]*eventstore.Event, error) {
	events, _, _, err := v.load(ctx, seqs, nil)
	if err != nil {
		return nil, err
	}
	return events, v.readTitles(ctx, taskIDs(events, nil))
}

// load is fetch for events of which some are known: those count, but are not read. It returns how many of the seqs fit,
// and which events have no payload in the log's file.
func (v *view) load(ctx context.Context, seqs []int64, known map[int64]*rendering) (events map[int64]*eventstore.Event, n int, blank map[int64]bool, err error) {
	sizes, err := v.sizesOf(ctx, seqs, known)
	if err != nil {
		return nil, 0, nil, err
	}
	events = make(map[int64]*eventstore.Event, len(seqs)-len(known))
	keep := func(wanted ...int64) (size int64, err error) {
		if len(wanted) == 0 {
			return 0, nil
		}
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
	there := make([]int64, 0, len(seqs)-len(known)) // in the file, not read yet
	for _, seq := range seqs {
		size := sizes[seq]
		_, had := events[seq]
		isBlank := size == 0
		if isBlank { // the size of an archived one is only known after reading
			if blank == nil {
				blank = map[int64]bool{}
			}
			blank[seq] = true
			if size, err = keep(seq); err != nil {
				return nil, 0, nil, err
			}
			if err := budget.Take(ctx, timesHeld*size); err != nil {
				return nil, 0, nil, err
			}
		}
		if bytes += size; bytes > int64(v.MaxBytes) && n > 0 {
			if !had {
				delete(events, seq)
			}
			break
		}
		n++
		if isBlank {
			continue
		}
		if err := budget.Take(ctx, timesHeld*size); err != nil {
			return nil, 0, nil, err
		}
		if known[seq] == nil {
			there = append(there, seq)
		}
	}
	slices.Sort(there) // the file is in this order
	_, err = keep(slices.Compact(there)...)
	return events, n, blank, err
}

// sizesOf are the payload sizes of events in the log's file.
func (v *view) sizesOf(ctx context.Context, seqs []int64, known map[int64]*rendering) (map[int64]int64, error) {
	wanted := seqs
	if len(known) > 0 {
		wanted = make([]int64, 0, len(seqs))
		for _, seq := range seqs {
			if known[seq] == nil {
				wanted = append(wanted, seq)
			}
		}
	}
	sizes := map[int64]int64{}
	if len(wanted) > 0 {
		var err error
		if sizes, err = index.PayloadSizes(ctx, v.tx, wanted); err != nil {
			return nil, err
		}
	}
	for seq, r := range known {
		sizes[seq] = r.size
	}
	return sizes, nil
}

// object writes a JSON object, member by member.
type object struct {
	b   []byte
	own map[string]bool // members already written, which are skipped
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

// members copies the members of a JSON object that keep accepts, unchanged. Of duplicates the last value counts, at
// the position of the first, as in ECMAScript.
func (o *object) members(object []byte, keep func(key string) bool) {
	type member struct {
		key string
		raw []byte
	}
	var list []member
	at := map[string]int{}
	// The log contains valid JSON: EachField cannot fail.
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

// appendString writes a JSON string with only the required escapes.
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
