package storetest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func badFieldIsNamed(t *testing.T, s *subject) {
	for _, bad := range []struct {
		name  string
		field string
		alter func(*eventstore.StreamAppend, *eventstore.NewEvent)
	}{
		{"no stream", "stream", func(a *eventstore.StreamAppend, _ *eventstore.NewEvent) { a.Stream = "" }},
		{"long stream", "stream", func(a *eventstore.StreamAppend, _ *eventstore.NewEvent) {
			a.Stream = strings.Repeat("s", eventstore.MaxStreamBytes+1)
		}},
		{"NUL in stream", "stream", func(a *eventstore.StreamAppend, _ *eventstore.NewEvent) { a.Stream = "a\x00b" }},
		{"stream not UTF-8", "stream", func(a *eventstore.StreamAppend, _ *eventstore.NewEvent) { a.Stream = "a\xff" }},
		{"no type", "type", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Type = "" }},
		{"space around type", "type", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Type = "task.started " }},
		{"long type", "type", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) {
			e.Type = strings.Repeat("t", eventstore.MaxTypeBytes+1)
		}},
		{"type not UTF-8", "type", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Type = "t\xff" }},
		{"negative ver", "ver", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Ver = -1 }},
		{"unknown actor", "actor", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Actor = "robot" }},
		{"long agent", "agentId", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) {
			e.AgentID = strings.Repeat("a", eventstore.MaxAgentBytes+1)
		}},
		{"NUL in agent", "agentId", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.AgentID = "\x00" }},
		{"long correlation", "correlationId", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) {
			e.CorrelationID = strings.Repeat("c", eventstore.MaxRefBytes+1)
		}},
		{"NUL in correlation", "correlationId", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.CorrelationID = "\x00" }},
		{"long causation", "causationId", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) {
			e.CausationID = strings.Repeat("c", eventstore.MaxRefBytes+1)
		}},
		{"causation not UTF-8", "causationId", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.CausationID = "\xff" }},
		{"no data", "data", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Data = nil }},
		{"data is a list", "data", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Data = json.RawMessage(`[]`) }},
		{"data is cut off", "data", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Data = json.RawMessage(`{"a":`) }},
		{"two objects", "data", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Data = json.RawMessage(`{}{}`) }},
		{"data not UTF-8", "data", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Data = json.RawMessage("{\"a\":\"\xff\"}") }},
		{"data too large", "data", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) {
			e.Data = make(json.RawMessage, eventstore.MaxDataBytes+1)
		}},
		{"original is a string", "original", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Original = json.RawMessage(`"x"`) }},
		{"original is empty", "original", func(_ *eventstore.StreamAppend, e *eventstore.NewEvent) { e.Original = json.RawMessage{} }},
	} {
		t.Run(bad.name, func(t *testing.T) {
			e, a := event(`{}`), eventstore.StreamAppend{Stream: "task/b"}
			bad.alter(&a, &e)
			a.Events = []eventstore.NewEvent{event(`{}`), e}
			invalid := wantAs[*eventstore.InvalidError](t, s.refuse(t, to("task/a", event(`{}`)), a))
			wantEqual(t, "field", invalid.Field, bad.field)
			if invalid.HintText == "" {
				t.Error("the error has no hint how to fix the input")
			}
		})
	}
}

func limitsAreInclusive(t *testing.T, s *subject) {
	stream := strings.Repeat("s", eventstore.MaxStreamBytes)
	e := eventstore.NewEvent{
		Type: strings.Repeat("t", eventstore.MaxTypeBytes), Ver: math.MaxInt32, AgentID: strings.Repeat("a", eventstore.MaxAgentBytes),
		CorrelationID: strings.Repeat("c", eventstore.MaxRefBytes), CausationID: strings.Repeat("d", eventstore.MaxRefBytes),
		Actor: eventstore.ActorImport, Data: json.RawMessage(`{}`),
	}
	s.append(t, to(stream, e))
	got := s.event(t, 1)
	want := got
	want.Stream, want.Type, want.Ver, want.AgentID, want.Actor = stream, e.Type, e.Ver, e.AgentID, e.Actor
	want.CorrelationID, want.CausationID = e.CorrelationID, e.CausationID
	wantEqual(t, "event", got, want)
}

func payloadIsKeptByteByByte(t *testing.T, s *subject) {
	for name, data := range map[string]string{
		"space and order":  "\r\n { \"b\" : 1,\t\"a\":2 }\n",
		"Korean":           `{"메시지":"안녕하세요, 세움님. 협업을 시작할까요?"}`,
		"decomposed":       "{\"\u1112\u1161\u11ab\":\"e\u0301\"}",
		"emoji":            `{"👩‍💻":"🇰🇷"}`,
		"escapes":          `{"a":"\u0000\ud55c\n\/\"","b":"\u2028"}`,
		"raw separators":   "{\"a\":\"\u2028\u2029\u007f\"}",
		"lone surrogate":   `{"a":"\ud800"}`,
		"numbers":          `{"a":1.0,"b":1e999,"c":123456789012345678901234567890,"d":-0}`,
		"repeated keys":    `{"a":1,"a":2}`,
		"SQL":              `{"a":"'; DROP TABLE events; --"}`,
		"HTML":             `{"a":"<b>&amp;</b>"}`,
		"one mebibyte":     `{"a":"` + strings.Repeat("가", 1<<20/3) + `"}`,
		"nested 500 deep":  `{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		"nested 5000 deep": `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := event(data)
			e.Original = json.RawMessage(data)
			e.Type, e.AgentID, e.CorrelationID = "형식."+name, "세움 "+name, "대화/"+name
			if e.Check() != nil {
				wantAs[*eventstore.InvalidError](t, s.refuse(t, to("작업/"+name, e)))
				return
			}
			stored := s.append(t, to("작업/"+name, e)).Events[0]
			got := s.event(t, stored.Seq)
			if string(got.Data) != data || string(got.Original) != data {
				t.Errorf("data and original came back as %.80q and %.80q, want %.80q", got.Data, got.Original, data)
			}
			if got.Type != e.Type || got.AgentID != e.AgentID || got.CorrelationID != e.CorrelationID || got.Stream != "작업/"+name {
				t.Errorf("texts came back as %q, %q, %q, %q", got.Type, got.AgentID, got.CorrelationID, got.Stream)
			}
		})
	}
}

func timesAndDefaults(t *testing.T, s *subject) {
	now := s.clock.Now().UnixMilli()
	bare := eventstore.NewEvent{Type: "x", Data: json.RawMessage(`{}`)}
	s.append(t, to("task/a", bare))
	got := s.event(t, 1)
	if got.ID.IsZero() || len(got.Salt) != eventstore.SaltBytes {
		t.Errorf("the store made the id %s and a salt of %d bytes", got.ID, len(got.Salt))
	}
	got.ID, got.Salt, got.DataHash, got.Hash = eventstore.ID{}, nil, eventstore.Hash{}, eventstore.Hash{}
	wantEqual(t, "bare event", got, eventstore.Event{Seq: 1, Stream: "task/a", Version: 1, Type: "x", Ver: 1, TS: now, RecordedAt: now,
		Actor: eventstore.ActorSystem, Data: json.RawMessage(`{}`)})

	for _, ts := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		stored := s.append(t, to("task/a", bare.WithTS(ts))).Events[0]
		if e := s.event(t, stored.Seq); e.TS != ts || e.RecordedAt != now {
			t.Errorf("ts %d, recorded at %d came back as %d, %d", ts, now, e.TS, e.RecordedAt)
		}
	}
}
