package redact

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
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/eventstore"
)

// maxEvents is the most events that one redaction blanks.
const maxEvents = 100_000

// Stable codes of refused orders.
const (
	CodeInvalid   = "invalid_redaction"
	CodeNotFound  = "not_found"
	CodeProtected = "protected_event"
	CodeTooMany   = "too_many_events"
	CodeNothing   = "nothing_to_redact"
	CodeNoRoom    = "no_room"
)

// search is a request for events and its result.
type search struct {
	texts   *needles // nil: only the named events
	named   map[int64]bool
	matches map[int64]redaction.Match
	refused map[int64]redaction.Refused
	seq     int64 // last event that was examined
}

// Find returns what an order would redact, and changes nothing.
func (r *Redactor) Find(ctx context.Context, o *redaction.Order) (*redaction.Plan, error) {
	s, err := r.search(ctx, o)
	if err != nil {
		return nil, err
	}
	plan := s.plan()
	plan.Kept, err = r.remaining(ctx, s.texts, false)
	return plan, err
}

// search searches the whole log, as it is now, for what an order describes.
func (r *Redactor) search(ctx context.Context, o *redaction.Order) (*search, error) {
	s := &search{named: map[int64]bool{}, matches: map[int64]redaction.Match{}, refused: map[int64]redaction.Refused{}}
	if err := check(o); err != nil {
		return nil, err
	}
	if err := r.name(ctx, o, s); err != nil {
		return nil, err
	}
	switch {
	case s.texts == nil:
	case len(s.texts.heads) > maxTexts:
		return nil, &redaction.Refusal{Reason: CodeTooMany, Field: "seqs", Text: fmt.Sprintf("These events hold more than %d texts", maxTexts),
			HintText: "name fewer events at a time, or search for one text"}
	case s.texts.holds(o.By):
		return nil, &redaction.Refusal{Reason: CodeInvalid, Field: "by", Text: "The requester's name contains the text itself", HintText: "give another one"}
	case s.texts.holds(o.Reason):
		return nil, &redaction.Refusal{Reason: CodeInvalid, Field: "reason", Text: "The reason contains the text itself, and would stay in the log",
			HintText: "use other words"}
	}
	if s.texts != nil && len(s.texts.heads) > 0 {
		if err := r.read(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, s.check()
}

// check refuses an invalid order.
func check(o *redaction.Order) error {
	named := len(o.Seqs)+len(o.IDs) > 0
	bad := func(field, text, hint string) error {
		return &redaction.Refusal{Reason: CodeInvalid, Field: field, Text: text, HintText: hint}
	}
	const maxReason = 500 // characters
	switch text := plain(o.Text); {
	case named && o.Text != "":
		return bad("text", "Both events and a text are given", "give one or the other")
	case !named && o.Text == "":
		return bad("seqs", "Neither events nor a text are given", "give seqs or ids of events, or a text")
	case !named && utf8.RuneCountInString(text) < fewest:
		return bad("text", fmt.Sprintf("The text has fewer than %d characters", fewest), "give a longer one: every event that contains it is blanked")
	case !named && o.Only:
		return bad("only", "only is given together with a text", "omit only, or name events")
	case utf8.RuneCountInString(o.Reason) > maxReason:
		return bad("reason", fmt.Sprintf("The reason has more than %d characters", maxReason), "shorten it")
	case len(o.Seqs)+len(o.IDs) > maxEvents:
		return bad("seqs", fmt.Sprintf("More than %d events are named", maxEvents), "name fewer at a time")
	}
	return nil
}

// name records the events that an order names, and the texts in them.
func (r *Redactor) name(ctx context.Context, o *redaction.Order, s *search) error {
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
			return &redaction.Refusal{Reason: CodeNotFound, Field: field, Unknown: true, Text: "There is no event " + name, HintText: "openclawd events query lists events"}
		case err != nil:
			return err
		}
		if why := protected(e.Type, e.Actor); why != "" {
			return &redaction.Refusal{Reason: CodeProtected, Field: field, Text: fmt.Sprintf("Event %d (%s) is not redacted: %s", e.Seq, e.Type, why),
				HintText: "leave it out"}
		}
		s.named[e.Seq] = true
		s.matches[e.Seq] = redaction.Match{Seq: e.Seq, Type: e.Type, AgentID: e.AgentID, Named: true}
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
			return &redaction.Refusal{Reason: CodeInvalid, Field: "ids", Text: fmt.Sprintf("%.80q is not an event id", text), HintText: "give a UUID"}
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
		return "tables of other events depend on it; remove the text from the configuration instead, secrets in it are masked"
	case strings.HasPrefix(typ, "log."):
		return "it records what was done to the log, and holds no payloads"
	}
	return ""
}

// read searches the log.
func (r *Redactor) read(ctx context.Context, s *search) error {
	const page = 1_000
	for {
		events, err := r.o.Log.Read(ctx, s.seq, page)
		if err != nil {
			return err
		}
		for i := range events {
			s.inspect(&events[i])
		}
		if len(events) < page {
			return nil
		}
	}
}

// inspect records an event that contains a text.
func (s *search) inspect(e *eventstore.Event) {
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
		s.refused[e.Seq] = redaction.Refused{Seq: e.Seq, Type: e.Type, Why: why}
		return
	case ok:
		s.matches[e.Seq] = redaction.Match{Seq: e.Seq, Type: e.Type, AgentID: e.AgentID, Field: field}
	}
	for _, column := range [...]string{e.Type, e.AgentID, e.Stream, e.CorrelationID, e.CausationID} {
		if slices.ContainsFunc(s.texts.heads, func(head string) bool { return strings.Contains(plain(column), head) }) {
			s.refused[e.Seq] = redaction.Refused{Seq: e.Seq, Type: e.Type,
				Why: "the text is in its envelope (type, agent, stream, correlation or cause), which the hash chain covers; only payloads can be blanked"}
		}
	}
}

// check refuses a result that is empty or too large.
func (s *search) check() error {
	switch {
	case len(s.matches) > maxEvents:
		return &redaction.Refusal{Reason: CodeTooMany, Text: fmt.Sprintf("%d events contain that text, the limit is %d", len(s.matches), maxEvents),
			HintText: "search for a longer text, or name events with only"}
	case len(s.matches) == 0 && len(s.refused) == 0:
		return &redaction.Refusal{Reason: CodeNothing, Field: "text", Text: "No event contains that text",
			HintText: "openclawd search and openclawd events query find events; texts that were masked are not in the log"}
	}
	return nil
}

func (s *search) seqs() []int64 { return slices.Sorted(maps.Keys(s.matches)) }

func (s *search) plan() *redaction.Plan {
	p := &redaction.Plan{Matches: []redaction.Match{}, Refused: []redaction.Refused{}, Seq: s.seq}
	for _, seq := range s.seqs() {
		p.Matches = append(p.Matches, s.matches[seq])
	}
	for _, seq := range slices.Sorted(maps.Keys(s.refused)) {
		p.Refused = append(p.Refused, s.refused[seq])
	}
	return p
}

// readNew searches, within the blanking transaction, what was stored since, so that no event is missed.
func (s *search) readNew(tx eventstore.Tx) error {
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
		s.inspect(&e)
		return nil
	})
}
