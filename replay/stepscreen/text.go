package stepscreen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

// Limits of what is shown of one event; openclawd events show has all of it.
const (
	maxPayload = 64 << 10
	maxRows    = 500
	maxValue   = 2_000 // characters
)

func headline(s *debugger.Step) string {
	place := fmt.Sprintf("%s of %s", output.Thousands(s.Seq), output.Thousands(s.Head))
	if s.Event == nil {
		return place + "  before the first event"
	}
	parts := []string{place, s.Event.Type}
	if s.Event.AgentID != "" {
		parts = append(parts, s.Event.AgentID)
	}
	return output.Printable(strings.Join(append(parts, output.Time(s.Event.TS)+" UTC"), "  "))
}

// eventText renders an event with all its fields for people.
func eventText(s *debugger.Step, width int) (lines []string) {
	e := s.Event
	if e == nil {
		return []string{"The tables are empty."}
	}
	for _, field := range []struct{ name, value string }{
		{"stream", fmt.Sprintf("%s, version %d", e.Stream, e.Version)},
		{"recorded", output.Time(e.RecordedAt) + " UTC by " + string(e.Actor)},
		{"id", e.ID.String()},
		{"correlation", e.CorrelationID},
		{"cause", e.CausationID},
	} {
		if field.value != "" {
			lines = append(lines, output.Wrap(fmt.Sprintf("%-12s %s", field.name, field.value), width)...)
		}
	}
	if e.Redacted() {
		return append(lines, "data         redacted")
	}
	lines = append(lines, payload(e.Data, width)...)
	if e.Original != nil {
		lines = append(append(lines, "original"), payload(e.Original, width)...)
	}
	return lines
}

// payload renders JSON indented.
func payload(text json.RawMessage, width int) (lines []string) {
	left := 0
	if len(text) > maxPayload {
		left = len(text) - maxPayload
	}
	var b bytes.Buffer
	if left > 0 || json.Indent(&b, text, "", "  ") != nil {
		b.Reset()
		b.WriteString(strings.ToValidUTF8(string(text[:len(text)-left]), ""))
	}
	for line := range strings.Lines(b.String()) {
		lines = append(lines, output.Wrap(strings.TrimRight(line, "\n"), width)...)
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("... %s more", output.Bytes(int64(left))))
	}
	return lines
}

// relationsText renders the causes of an event, first cause at the top, and its effects.
func relationsText(s *debugger.Step, width int) (lines []string) {
	if s.Event == nil {
		return nil
	}
	depth := 0
	add := func(l *debugger.Link, mark string) {
		text := fmt.Sprintf("%s%s %s  %s  %s  %s  %s", strings.Repeat("  ", min(depth, 12)), mark, output.Thousands(l.Seq), l.Type, l.AgentID, output.Time(l.TS), howKnown(l.How))
		lines = append(lines, output.Cut(output.Printable(strings.TrimRight(text, " ")), width))
	}
	for i := len(s.Causes) - 1; i >= 0; i-- {
		add(&s.Causes[i], "└")
		depth++
	}
	add(&debugger.Link{Seq: s.Seq, Type: s.Event.Type, AgentID: s.Event.AgentID, TS: s.Event.TS}, "●")
	depth++
	for i := range s.Effects {
		add(&s.Effects[i], "→")
	}
	if len(s.Effects) == debugger.MaxEffects {
		lines = append(lines, "there may be more")
	}
	return lines
}

// howKnown says how a link is known, unless the event names its cause.
func howKnown(how debugger.How) string {
	switch how {
	case debugger.ByStream:
		return "(same stream)"
	case debugger.ByJob:
		return "(its flow)"
	case debugger.ByRun:
		return "(its run)"
	case debugger.ByWork:
		return "(its work)"
	}
	return ""
}

// rowsText renders the rows that an event changed, by table.
func rowsText(s *debugger.Step, width int) (lines []string) {
	if s.Event == nil {
		return nil
	}
	table := ""
	for i := range s.Changes {
		c := &s.Changes[i]
		if i == maxRows {
			return append(lines, fmt.Sprintf("... %s more", output.Count(int64(len(s.Changes)-i), "row")))
		}
		if c.Table != table {
			table = c.Table
			lines = append(lines, fmt.Sprintf("%s (%s)", table, c.Projection))
		}
		lines = append(lines, output.Wrap("  "+string(c.Kind)+" "+keyOf(c), width)...)
		for _, column := range c.Columns {
			lines = append(lines, output.Wrap("    "+column.Name+": "+change(c.Kind, &column), width)...)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "no rows: only the projections' positions")
	}
	return lines
}

func keyOf(c *compare.Change) string {
	parts := make([]string, len(c.Key))
	for i := range c.Key {
		column := &c.Key[i]
		v := column.After
		if c.Kind == compare.Removed {
			v = column.Before
		}
		parts[i] = column.Name + "=" + value(v)
	}
	return strings.Join(parts, " ")
}

func change(kind compare.Kind, c *compare.Column) string {
	switch kind {
	case compare.Added:
		return value(c.After)
	case compare.Removed:
		return value(c.Before)
	}
	return value(c.Before) + " -> " + value(c.After)
}

// value renders a value of a row on one line; text that could be mistaken for another type is quoted.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		text := v
		if letters := []rune(v); len(letters) > maxValue {
			text = string(letters[:maxValue]) + "…"
		}
		if text == "" || strings.ContainsFunc(text, unicode.IsControl) || strings.TrimSpace(text) != text {
			return strconv.Quote(text)
		}
		return text
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
