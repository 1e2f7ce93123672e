package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// redactedSeqs are the events of redactedHistory whose payloads are gone.
var redactedSeqs = []int64{2, 3, 5, 8, 13}

// redactedHistory has sessions of which some events were redacted, and what the log says of that and of an archive. Each type occurs with all
// members of its data filled.
func redactedHistory(t *testing.T) []eventstore.StreamAppend {
	t.Helper()
	appends := sessionHistory(t)
	add := func(stream, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 8}), Type: typ, Actor: eventstore.ActorSystem,
			TS: goldenTime.UnixMilli(), CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	const id = "redaction-golden"
	add("redaction/"+id, coordination.TypeLogRedacted, filled(func(d *coordination.LogRedacted) { d.RedactionID, d.Seqs = id, redactedSeqs }))
	add("redaction/"+id, coordination.TypeLogForgotten, filled(func(d *coordination.LogForgotten) { d.RedactionID = id }))
	add(coordination.ArchiveStream, coordination.TypeLogArchived, filled(func(d *coordination.LogArchived) { d.First, d.Last = 1, 4 }))
	return appends
}
