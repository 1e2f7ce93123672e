package ndjson_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

func internal(typ string) bool {
	return strings.HasPrefix(typ, "import.") || strings.HasPrefix(typ, "run.")
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, want := range []ndjson.Format{ndjson.FormatOpenclaw, ndjson.FormatFull} {
		if got, err := ndjson.ParseFormat(string(want)); got != want || err != nil {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}
	_, err := ndjson.ParseFormat("csv")
	if invalid, ok := errors.AsType[*eventstore.InvalidError](err); !ok || invalid.Field != "format" {
		t.Errorf("csv: %v", err)
	}
}

// An exported log equals the imported one, line by line, except rejected lines and the position of data in lines that
// were not canonical.
func TestExportOpenclaw(t *testing.T) {
	t.Parallel()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	if err := log.Redact(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	got := mustExport(t, log, ndjson.ExportOptions{Internal: internal})
	want := `{"type":"task.started","agentId":"eden","ts":1770984996357,"data":null}
{"type":"a2a.send","agentId":"eden","ts":1770985037662,"data":{"toAgent":"miri","message":"고객 문의가 늘었습니다. <@42> 확인 부탁해요 🙏"}}
{"type":" padded ","agentId":"miri","ts":"1771584720000","data":"text","extra":{"kept":true}}
{"type":"brand.new","data":{"n":1}}
{"type":"task.started","agentId":"eden","ts":1770984996357,"data":{"taskId":"task_1","priority":"high"}}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("export (-want +got):\n%s", diff)
	}
}

func TestExportOfCanonicalLinesIsTheSameText(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		`{"type":"a2a.send","agentId":"eden","ts":1770985037662,"data":{"message":"<b>&\u00e9\/\ud800 ` + "\u2028" + `배포","n":1e2}}`,
		`{"type":"t\"\\\n\u001f","agentId":"a\tb","ts":-1,"data":{ }}`,
		`{"type":"` + "\u007f\u2029" + `","agentId":"","ts":5,"data":{"a":{"b":[]}}}`,
	}, "\n") + "\n"
	log := newLog()
	mustImport(t, ndjson.New(options(log)), text, "live")
	if diff := cmp.Diff(text, mustExport(t, log, ndjson.ExportOptions{})); diff != "" {
		t.Errorf("export (-want +got):\n%s", diff)
	}
}

func TestExportLeavesOutOurOwnInternalEvents(t *testing.T) {
	t.Parallel()
	log := newLog()
	_, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "s", Events: []eventstore.NewEvent{
		{Type: "run.started", TS: 1, Data: []byte(`{}`)},
		{Type: "run.started", TS: 2, Data: []byte(`{}`), Actor: eventstore.ActorImport},
		{Type: "a2a.send", TS: 3, Data: []byte("{\n}")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := mustExport(t, log, ndjson.ExportOptions{Internal: internal})
	want := `{"type":"run.started","agentId":"","ts":2,"data":{}}` + "\n" + `{"type":"a2a.send","agentId":"","ts":3,"data":{}}` + "\n"
	if got != want {
		t.Errorf("openclaw:\n%s", got)
	}
	if full := mustExport(t, log, ndjson.ExportOptions{Format: ndjson.FormatFull, Internal: internal}); strings.Count(full, "\n") != 3 {
		t.Errorf("full:\n%s", full)
	}
}

func TestExportFull(t *testing.T) {
	t.Parallel()
	log := newLog()
	_, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "task/1", Events: []eventstore.NewEvent{
		{
			ID: mustID(t, ownID), Type: "x", AgentID: "<eden>", TS: 5, CorrelationID: "c", CausationID: "d", Actor: eventstore.ActorHuman,
			Data: []byte(`{"m":"<배포>"}`), Original: []byte(`{"type":"x","ts":"5"}`),
		},
		{Type: "y", Data: []byte(`{}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Redact(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	events := all(t, log)
	got := strings.SplitAfter(mustExport(t, log, ndjson.ExportOptions{Format: ndjson.FormatFull}), "\n")
	want := []string{
		`{"seq":1,"id":"` + ownID + `","stream":"task/1","version":1,"type":"x","ver":1,"agentId":"<eden>","ts":5,"recordedAt":1771588800000,` +
			`"correlationId":"c","causationId":"d","actor":"human","data":{"m":"<배포>"},"original":{"type":"x","ts":"5"},"salt":"` + hex.EncodeToString(events[0].Salt) +
			`","dataHash":"` + events[0].DataHash.String() + `","hash":"` + events[0].Hash.String() + `"}` + "\n",
		`{"seq":2,"id":"` + events[1].ID.String() + `","stream":"task/1","version":2,"type":"y","ver":1,"agentId":"","ts":1771588800000,` +
			`"recordedAt":1771588800000,"correlationId":"","causationId":"","actor":"system","data":null,"original":null,"salt":null` +
			`,"dataHash":"` + events[1].DataHash.String() + `","hash":"` + events[1].Hash.String() + `"}` + "\n",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("export (-want +got):\n%s", diff)
	}
}

func TestExportBounds(t *testing.T) {
	t.Parallel()
	log := newLog()
	const events = 1203
	text := strings.Repeat(`{"type":"x","agentId":"a","ts":5,"data":{}}`+"\n", events)
	mustImport(t, ndjson.New(options(log)), text, "live")
	for name, tc := range map[string]struct {
		o    ndjson.ExportOptions
		want int64
	}{
		"all":                   {ndjson.ExportOptions{}, events},
		"from the first":        {ndjson.ExportOptions{From: 1}, events},
		"from":                  {ndjson.ExportOptions{From: 1000}, events - 999},
		"until":                 {ndjson.ExportOptions{UntilSeq: 501}, 501},
		"one":                   {ndjson.ExportOptions{From: 500, UntilSeq: 500}, 1},
		"from behind the end":   {ndjson.ExportOptions{From: events + 1}, 0},
		"until behind the end":  {ndjson.ExportOptions{UntilSeq: 9999}, events},
		"until before from":     {ndjson.ExportOptions{From: 9, UntilSeq: 8}, 0},
		"until the time of all": {ndjson.ExportOptions{UntilTime: clockMs}, events},
		"until before all":      {ndjson.ExportOptions{UntilTime: clockMs - 1}, 0},
	} {
		var b strings.Builder
		n, err := ndjson.Export(t.Context(), log, &b, tc.o)
		if err != nil || n != tc.want || int64(strings.Count(b.String(), "\n")) != tc.want {
			t.Errorf("%s: %d events, %d lines, %v; want %d", name, n, strings.Count(b.String(), "\n"), err, tc.want)
		}
	}
}

func TestExportErrors(t *testing.T) {
	t.Parallel()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	broken := errors.New("broken")
	if _, err := ndjson.Export(t.Context(), log, failing{broken}, ndjson.ExportOptions{}); !errors.Is(err, broken) {
		t.Errorf("broken writer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ndjson.Export(ctx, log, &strings.Builder{}, ndjson.ExportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// With ids, importing an export adds nothing to the log that it came from; elsewhere it makes a log that exports the same text.
func TestExportOpenclawRoundTrip(t *testing.T) {
	t.Parallel()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	_, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "task/1", Events: []eventstore.NewEvent{
		{Type: "task.updated", AgentID: "eden", TS: 9, CorrelationID: "c", Data: []byte("{\n\"n\": 1}")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Redact(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	before := len(all(t, log))

	text := mustExport(t, log, ndjson.ExportOptions{IDs: true, Internal: internal})
	if report := mustImport(t, ndjson.New(options(log)), text, "export"); report.New != 0 || report.Duplicates != 6 || len(all(t, log)) != before {
		t.Errorf("imported where it came from: %+v", report)
	}
	other := newLog()
	if report := mustImport(t, ndjson.New(options(other)), text, "export"); report.New != 6 {
		t.Errorf("imported elsewhere: %+v", report)
	}
	if diff := cmp.Diff(text, mustExport(t, other, ndjson.ExportOptions{IDs: true, Internal: internal})); diff != "" {
		t.Errorf("export of an import of an export (-first +second):\n%s", diff)
	}
}
