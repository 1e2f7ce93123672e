package ndjson_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// varied is a log with everything that a full export contains. Event 2 is redacted.
func varied(t *testing.T) *storetest.Model {
	t.Helper()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	_, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "task/1", Events: []eventstore.NewEvent{
		{Type: "a", AgentID: "에덴", TS: -5, CorrelationID: "c", CausationID: "d", Ver: 3, Actor: eventstore.ActorSchedule, Data: []byte(`{"m":"<\u0000\ud800>"}`)},
		eventstore.NewEvent{Type: "at 1970", Data: []byte(" {\r\n\t\"m\": \"\\n\\\"\"} ")}.WithTS(0),
		{Type: "b", Data: []byte(`{}`), Original: []byte("{\n\"type\":\"b\"}")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Redact(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	return log
}

func full(t *testing.T, log eventstore.Reader) string {
	t.Helper()
	return mustExport(t, log, ndjson.ExportOptions{Format: ndjson.FormatFull})
}

func TestRestore(t *testing.T) {
	t.Parallel()
	log := varied(t)
	text := full(t, log)
	for name, batch := range map[string]int{"one batch": 100, "many batches": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := newLog()
			o := options(other)
			o.BatchEvents = batch
			report := mustImport(t, ndjson.New(o), text, "full")
			if report.New != 13 || report.Restored != 13 || report.Accepted != 13 || report.FirstTS != -5 {
				t.Errorf("report %+v", report)
			}
			if diff := cmp.Diff(all(t, log), all(t, other)); diff != "" {
				t.Errorf("log (-exported +restored):\n%s", diff)
			}
			again := mustImport(t, ndjson.New(o), text, "full")
			if again.New != 0 || again.Duplicates != 13 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// An export that goes on where the log ends is restored; what the log has already is skipped.
func TestRestoreGoesOn(t *testing.T) {
	t.Parallel()
	log := varied(t)
	other := newLog()
	first := mustExport(t, log, ndjson.ExportOptions{Format: ndjson.FormatFull, UntilSeq: 5})
	if report := mustImport(t, ndjson.New(options(other)), first, "first"); report.Restored != 5 {
		t.Fatalf("first: %+v", report)
	}
	rest := mustExport(t, log, ndjson.ExportOptions{Format: ndjson.FormatFull, From: 3})
	report := mustImport(t, ndjson.New(options(other)), rest, "rest")
	if report.Duplicates != 3 || report.Restored != 8 {
		t.Errorf("rest: %+v", report)
	}
	if diff := cmp.Diff(all(t, log), all(t, other)); diff != "" {
		t.Errorf("log (-exported +restored):\n%s", diff)
	}
}

// What cannot be restored is appended under its own id, without the log's own fields.
func TestRestoreElsewhere(t *testing.T) {
	t.Parallel()
	log := varied(t)
	text := full(t, log)
	occupied := func(t *testing.T) *storetest.Model {
		other := newLog()
		mustImport(t, ndjson.New(options(other)), `{"type":"before","agentId":"a","ts":1,"data":{}}`+"\n", "live")
		return other
	}
	for name, tc := range map[string]struct {
		text     string
		into     func(t *testing.T) *storetest.Model
		restorer bool
		lost     int64
		restored int64
	}{
		"another log":      {text, occupied, true, 1, 0},
		"no restorer":      {text, func(*testing.T) *storetest.Model { return newLog() }, false, 1, 0},
		"without its head": {mustExport(t, log, ndjson.ExportOptions{Format: ndjson.FormatFull, From: 2}), occupied, true, 1, 0},
		"edited":           {strings.Replace(text, "not json at all", "edited", 1), func(*testing.T) *storetest.Model { return newLog() }, true, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := tc.into(t)
			before := int64(len(all(t, other)))
			o := options(other)
			if !tc.restorer {
				o.Restorer = nil
			}
			report := mustImport(t, ndjson.New(o), tc.text, "full")
			if report.Lost != tc.lost || report.Restored != tc.restored || report.New != report.Accepted-tc.lost {
				t.Errorf("report %+v", report)
			}
			for _, e := range all(t, other)[before:] {
				exported, err := log.EventByID(t.Context(), e.ID)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(withoutPlace(exported), withoutPlace(e)); diff != "" && !strings.Contains(string(e.Data), "edited") {
					t.Errorf("event (-exported +appended):\n%s", diff)
				}
			}
			if again := mustImport(t, ndjson.New(o), tc.text, "full"); again.New != 0 || again.Duplicates != report.New || again.Lost != tc.lost {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

func withoutPlace(e eventstore.Event) eventstore.Event {
	e.Seq, e.Version, e.Salt, e.DataHash, e.Hash = 0, 0, nil, eventstore.Hash{}, eventstore.Hash{}
	return e
}

// A store that refuses to restore, for what only it can know, gets the events appended.
func TestRestoreRefused(t *testing.T) {
	t.Parallel()
	other := newLog()
	o := options(other)
	o.Restorer = refusing{}
	if report := mustImport(t, ndjson.New(o), full(t, varied(t)), "full"); report.Restored != 0 || report.New != 12 || report.Lost != 1 {
		t.Errorf("report %+v", report)
	}
}

type refusing struct{}

func (refusing) Restore(context.Context, []eventstore.Event) error {
	return &eventstore.CorruptError{Detail: "refused"}
}

// A full export and plain lines may follow one another in one file.
func TestRestoreAmongPlainLines(t *testing.T) {
	t.Parallel()
	log := varied(t)
	const plain = `{"type":"after","agentId":"a","ts":1,"data":{}}` + "\n"
	other := newLog()
	report := mustImport(t, ndjson.New(options(other)), full(t, log)+plain+plain, "both")
	if report.Restored != 13 || report.New != 15 {
		t.Errorf("report %+v", report)
	}
	if events := all(t, other); events[13].Type != "after" || events[14].Type != "after" {
		t.Errorf("log ends with %+v", events[13:])
	}
}

// A line that looks like an export's but cannot be one is imported as an ordinary line without loss.
func TestExportLookAlikes(t *testing.T) {
	t.Parallel()
	line := strings.SplitAfter(full(t, varied(t)), "\n")[0]
	if got, rejection := ndjson.ParseLine([]byte(line)); rejection != nil || got.Exported == nil {
		t.Fatalf("not recognised: %+v, %+v", got, rejection)
	}
	for _, change := range [][2]string{
		{`"seq":1,`, `"seq":0,`},
		{`"seq":1,`, `"seq":"1",`},
		{`"version":1,`, `"version":0,`},
		{`"id":"0`, `"id":"x`},
		{`"stream":"agent/eden"`, `"stream":""`},
		{`"actor":"import"`, `"actor":"stranger"`},
		{`"dataHash":"`, `"dataHash":"0`},
		{`"salt":"`, `"salt":"x`},
		{`"data":{`, `"data":[],"more":{`},
		{`"original":null`, `"original":7`},
	} {
		changed := strings.Replace(line, change[0], change[1], 1)
		if changed == line {
			t.Fatalf("%s is not in %s", change[0], line)
		}
		got, rejection := ndjson.ParseLine([]byte(changed))
		if rejection != nil || got.Exported != nil || !strings.Contains(string(got.Event.Original), `"hash"`) {
			t.Errorf("%s: %+v, %+v", change[1], got, rejection)
		}
	}
}

// A redacted event that the log has under its id, wherever, is no loss; and the log keeps the payload that it has.
func TestRestoreKnowsRedactedEventsByID(t *testing.T) {
	t.Parallel()
	other := newLog()
	mustImport(t, ndjson.New(options(other)), `{"type":"before","agentId":"a","ts":1,"data":{}}`+"\n"+sample, "live")
	report := mustImport(t, ndjson.New(options(other)), full(t, varied(t)), "full")
	if report.New != 3 || report.Duplicates != 10 || report.Lost != 0 {
		t.Errorf("report %+v", report)
	}
	if e := all(t, other)[2]; e.Type != "a2a.send" || e.Redacted() {
		t.Errorf("event %+v", e)
	}
}
