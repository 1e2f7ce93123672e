package redaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// maxEvents is how many events one redaction blanks at most.
const maxEvents = 100_000

// Codes of orders that are refused. They are stable.
const (
	CodeInvalid   = "invalid_redaction"
	CodeNotFound  = "not_found"
	CodeProtected = "protected_event"
	CodeTooMany   = "too_many_events"
	CodeNothing   = "nothing_to_redact"
	CodeNoRoom    = "no_room"
)

// search is what is looked for, and what was found.
type search struct {
	texts   *needles // nil: nothing but what is named
	named   map[int64]bool
	matches map[int64]monitor.RedactionMatch
	refused map[int64]monitor.RedactionRefused
	seq     int64 // looked at up to here
}

// Find implements monitor.Redactions.
func (r *Redactor) Find(ctx context.Context, o *monitor.RedactionOrder) (*monitor.RedactionPlan, error) {
	s, err := r.search(ctx, o)
	if err != nil {
		return nil, err
	}
	plan := s.plan()
	plan.Kept, err = r.kept(ctx, s.texts, false)
	return plan, err
}

// search looks for what an order means in the whole log as it is now.
func (r *Redactor) search(ctx context.Context, o *monitor.RedactionOrder) (*search, error) {
	s := &search{named: map[int64]bool{}, matches: map[int64]monitor.RedactionMatch{}, refused: map[int64]monitor.RedactionRefused{}}
	if err := check(o); err != nil {
		return nil, err
	}
	if err := r.name(ctx, o, s); err != nil {
		return nil, err
	}
	switch {
	case s.texts == nil:
	case len(s.texts.heads) > maxTexts:
		return nil, &monitor.RedactionError{Reason: CodeTooMany, Field: "seqs", Text: fmt.Sprintf("These events hold more than %d texts", maxTexts),
			Mend: "name fewer events at a time, or look for one text"}
	case s.texts.holds(o.By):
		return nil, &monitor.RedactionError{Reason: CodeInvalid, Field: "by", Text: "The name of who asks holds the text itself", Mend: "give another one"}
	case s.texts.holds(o.Reason):
		return nil, &monitor.RedactionError{Reason: CodeInvalid, Field: "reason", Text: "The reason holds the text itself, and would stand in the log for ever",
			Mend: "say why in other words"}
	}
	if s.texts != nil && len(s.texts.heads) > 0 {
		if err := r.read(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, s.check()
}

// check refuses an order that makes no sense.
func check(o *monitor.RedactionOrder) error {
	named := len(o.Seqs)+len(o.IDs) > 0
	bad := func(field, text, mend string) error {
		return &monitor.RedactionError{Reason: CodeInvalid, Field: field, Text: text, Mend: mend}
	}
	const maxReason = 500 // characters
	switch text := plain(o.Text); {
	case named && o.Text != "":
		return bad("text", "Both events and a text are named", "name one or the other")
	case !named && o.Text == "":
		return bad("seqs", "Nothing is named", "name events by seqs or ids, or a text")
	case !named && utf8.RuneCountInString(text) < fewest:
		return bad("text", fmt.Sprintf("The text has fewer than %d characters", fewest), "give a longer one: every event that has it is blanked")
	case !named && o.Only:
		return bad("only", "A text has no events of its own", "leave only away, or name events")
	case utf8.RuneCountInString(o.Reason) > maxReason:
		return bad("reason", fmt.Sprintf("The reason has more than %d characters", maxReason), "say it shorter")
	case len(o.Seqs)+len(o.IDs) > maxEvents:
		return bad("seqs", fmt.Sprintf("More than %d events are named", maxEvents), "name fewer at a time")
	}
	return nil
}

// name notes the events that an order names, and the texts that follow from them.
func (r *Redactor) name(ctx context.Context, o *monitor.RedactionOrder, s *search) error {
	if o.Text != "" {
		s.texts = ofText(o.Text)
		return nil
	}
	if !o.Only {
		s.texts = newNeedles()
	}
	take := func(e eventstore.Event, err error, field, name string) error {
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
			return &monitor.RedactionError{Reason: CodeNotFound, Field: field, Unknown: true, Text: "There is no event " + name, Mend: "openclawd events query lists events"}
		case err != nil:
			return err
		}
		if why := protected(e.Type, e.Actor); why != "" {
			return &monitor.RedactionError{Reason: CodeProtected, Field: field, Text: fmt.Sprintf("Event %d (%s) is not redacted: %s", e.Seq, e.Type, why),
				Mend: "leave it out"}
		}
		s.named[e.Seq] = true
		s.matches[e.Seq] = monitor.RedactionMatch{Seq: e.Seq, Type: e.Type, AgentID: e.AgentID, Named: true}
		if s.texts != nil && !e.Redacted() {
			s.texts.addPayload(e.Data)
			s.texts.addPayload(e.Original)
		}
		return nil
	}
	for _, seq := range o.Seqs {
		e, err := r.o.Log.Event(ctx, seq)
		if err := take(e, err, "seqs", fmt.Sprint(seq)); err != nil {
			return err
		}
	}
	for _, text := range o.IDs {
		id, err := eventstore.ParseID(text)
		if err != nil {
			return &monitor.RedactionError{Reason: CodeInvalid, Field: "ids", Text: fmt.Sprintf("%.80q is no id of an event", text), Mend: "give a UUID"}
		}
		e, err := r.o.Log.EventByID(ctx, id)
		if err := take(e, err, "ids", text); err != nil {
			return err
		}
	}
	if s.texts != nil {
		s.texts.complete()
	}
	return nil
}

// protected says why events of a type are never blanked; "" for others.
func protected(typ string, actor eventstore.Actor) string {
	switch {
	case actor == eventstore.ActorImport:
		return ""
	case typ == coordination.TypeConfigApplied:
		return "what the tables make of other events depends on it; take the text out of the configuration instead, secrets in it are masked"
	case strings.HasPrefix(typ, "log."):
		return "it is the log's own account of what was done to it, and holds no payloads"
	}
	return ""
}

// read looks through the log.
func (r *Redactor) read(ctx context.Context, s *search) error {
	const page = 1_000
	for {
		events, err := r.o.Log.Read(ctx, s.seq, page)
		if err != nil {
			return err
		}
		for i := range events {
			s.look(&events[i])
		}
		if len(events) < page {
			return nil
		}
	}
}

// look notes an event that holds a text.
func (s *search) look(e *eventstore.Event) {
	s.seq = e.Seq
	if e.Redacted() || s.named[e.Seq] || s.texts == nil {
		return
	}
	field, ok := s.texts.in(e.Data)
	if !ok {
		if field, ok = s.texts.in(e.Original); ok {
			field = "original: " + field
		}
	}
	switch why := protected(e.Type, e.Actor); {
	case ok && why != "":
		s.refused[e.Seq] = monitor.RedactionRefused{Seq: e.Seq, Type: e.Type, Why: why}
		return
	case ok:
		s.matches[e.Seq] = monitor.RedactionMatch{Seq: e.Seq, Type: e.Type, AgentID: e.AgentID, Field: field}
	}
	for _, column := range [...]string{e.Type, e.AgentID, e.Stream, e.CorrelationID, e.CausationID} {
		if slices.ContainsFunc(s.texts.heads, func(head string) bool { return strings.Contains(plain(column), head) }) {
			s.refused[e.Seq] = monitor.RedactionRefused{Seq: e.Seq, Type: e.Type,
				Why: "the text stands in its envelope (type, agent, stream, correlation or cause), which the chain covers; only its payload goes"}
		}
	}
}

// check refuses what was found where it is nothing, or too much.
func (s *search) check() error {
	switch {
	case len(s.matches) > maxEvents:
		return &monitor.RedactionError{Reason: CodeTooMany, Text: fmt.Sprintf("%d events hold that, more than %d", len(s.matches), maxEvents),
			Mend: "look for a longer text, or name events with only"}
	case len(s.matches) == 0 && len(s.refused) == 0:
		return &monitor.RedactionError{Reason: CodeNothing, Field: "text", Text: "No event holds that text",
			Mend: "openclawd search and openclawd events query find events; texts that were masked are not in the log"}
	}
	return nil
}

func (s *search) seqs() []int64 { return slices.Sorted(maps.Keys(s.matches)) }

func (s *search) plan() *monitor.RedactionPlan {
	p := &monitor.RedactionPlan{Matches: []monitor.RedactionMatch{}, Refused: []monitor.RedactionRefused{}, Seq: s.seq}
	for _, seq := range s.seqs() {
		p.Matches = append(p.Matches, s.matches[seq])
	}
	for _, seq := range slices.Sorted(maps.Keys(s.refused)) {
		p.Refused = append(p.Refused, s.refused[seq])
	}
	return p
}

// lookIn looks, within the transaction that blanks, through what was stored since, so that nothing slips in between.
func (s *search) lookIn(tx eventstore.Tx) error {
	if s.texts == nil || len(s.texts.heads) == 0 {
		return nil
	}
	return tx.Query(`SELECT e.seq, e.type, e.actor, e.agent_id, s.name, e.correlation_id, e.causation_id, e.data, e.original
 FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.seq > ? ORDER BY e.seq`, []any{s.seq}, func(row eventstore.Row) error {
		e := eventstore.Event{Seq: row.Int(0), Type: row.Text(1), Actor: eventstore.Actor(row.Text(2)), AgentID: row.Text(3), Stream: row.Text(4),
			CorrelationID: row.Text(5), CausationID: row.Text(6)}
		if !row.Null(7) {
			e.Data = json.RawMessage(row.Text(7))
		}
		if !row.Null(8) {
			e.Original = json.RawMessage(row.Text(8))
		}
		s.look(&e)
		return nil
	})
}
