package ndjson_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// FuzzLine holds ParseLine to its word: what it accepts can be stored, and what it keeps says all that the line says.
//
// Promise: bad-lines
func FuzzLine(f *testing.F) {
	for line := range bytes.Lines([]byte(sample)) {
		f.Add(line)
	}
	for _, line := range []string{
		`{"type":"x","agentId":"a","ts":5,"data":{},"id":"0197c9a4-5b1e-7c3d-9f00-112233445566"}`,
		`{"data":{"a":1},"data":[],"\u0074ype":"x","type":"\ud800","ts":1e3,"agentId":"\u0000"}`,
		"{\"type\":\"\u0085\xff\",\"timestamp\":\"2026-02-20\",\r\"data\":{\r}}",
		`{"type":"0","data":{}}`,
		`{"type":"x","a":[[{"b":"]\\\""}],-1.5e-7,null,true]}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		given := bytes.Clone(line)
		got, rejection := ndjson.ParseLine(line)
		if !bytes.Equal(given, line) {
			t.Fatal("the line was changed")
		}
		if rejection != nil || got.Blank || got.Exported != nil {
			return
		}
		e := got.Event
		if err := e.Check(); err != nil {
			t.Fatalf("a store would refuse it: %v", err)
		}
		if bytes.ContainsAny(e.Data, "\r\n") || bytes.ContainsAny(e.Original, "\r\n") {
			t.Fatalf("line breaks in %q, %q", e.Data, e.Original)
		}
		if utf8.Valid(line) {
			if diff := cmp.Diff(recordOf(t, line, e.ID), reproduced(t, &e)); diff != "" {
				t.Fatalf("record (-line +kept):\n%s", diff)
			}
		}
		again, rejection := ndjson.ParseLine(exportOf(t, e))
		if rejection != nil {
			t.Fatalf("its export is rejected: %+v", rejection)
		}
		first, second := saidBy(e), saidBy(again.Event)
		if first.Original != "" && second.Original == "" && cmp.Equal(recordOf(t, e.Original, e.ID), reproduced(t, &again.Event)) {
			first.Original = "" // a line without data is exported with empty data, and then says no more than the event
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("export and import (-first +second):\n%s", diff)
		}
	})
}

// exportOf is the line that e becomes in an export with ids.
func exportOf(t *testing.T, e eventstore.NewEvent) []byte {
	t.Helper()
	log := newLog()
	hadID := !e.ID.IsZero()
	if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: []eventstore.NewEvent{e}}); err != nil {
		t.Fatal(err)
	}
	return []byte(mustExport(t, log, ndjson.ExportOptions{IDs: hadID}))
}

// recordOf is what the line says, its honoured id aside. A record without data counts as one with empty data.
func recordOf(t *testing.T, line []byte, honoured eventstore.ID) map[string]any {
	t.Helper()
	record := decodeObject(t, bytes.TrimFunc(line, func(r rune) bool { return r == '\uFEFF' || unicode.IsSpace(r) }))
	if !honoured.IsZero() {
		delete(record, "id") // an id before the honoured one stays in Original; see TestParseLine
	}
	if _, ok := record["data"]; !ok {
		record["data"] = map[string]any{}
	}
	return record
}

// reproduced is the record that type, agentId, ts, data and original stand for.
func reproduced(t *testing.T, e *eventstore.NewEvent) map[string]any {
	t.Helper()
	record := map[string]any{"type": e.Type, "agentId": e.AgentID, "ts": json.Number(strconv.FormatInt(e.TS, 10))}
	if e.Original != nil {
		record = decodeObject(t, e.Original)
	}
	if !e.ID.IsZero() {
		delete(record, "id")
	}
	if _, ok := record["data"]; !ok {
		record["data"] = any(decodeObject(t, e.Data))
	}
	return record
}

func decodeObject(t *testing.T, text []byte) (object map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}
