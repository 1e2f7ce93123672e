package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// A message in an archive is not shown as redacted.
func TestTranscriptSaysWhatWasArchived(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "agent:eden:s1", `"author":"user","text":"long ago"`)
	b.say(t, "agent:eden:s1", `"author":"user","text":"forget this"`)
	said := b.events(t, "session/agent:eden:s1")
	old, redacted := said[0].Seq, said[1].Seq
	record := eventstore.StreamAppend{Stream: coordination.ArchiveStream, Events: []eventstore.NewEvent{{Type: coordination.TypeLogArchived,
		Data: fmt.Appendf(nil, `{"eventRole":"system.observability","first":1,"last":%d,"file":"1-%d.ndjson.zst"}`, redacted, redacted)}}}
	if _, err := b.db.Archive(t.Context(), 1, redacted, func(string, bool) bool { return false }, record); err != nil {
		t.Fatal(err)
	}
	_, err := b.db.Append(t.Context(), eventstore.StreamAppend{Stream: "redaction/r1", Events: []eventstore.NewEvent{{Type: coordination.TypeLogRedacted,
		Data: fmt.Appendf(nil, `{"eventRole":"system.observability","redactionId":"r1","seqs":[%d]}`, redacted)}}})
	if err != nil {
		t.Fatal(err)
	}
	b.say(t, "agent:eden:s1", `"author":"user","text":"today"`)

	got := string(b.answer(t, "chat.history", `{"sessionKey":"agent:eden:s1"}`))
	for text, n := range map[string]int{"long ago": 0, "forget this": 0, "[archived": 1, `"archived"`: 1, "[redacted]": 1, "today": 1} {
		if strings.Count(got, text) != n {
			t.Errorf("event %d is archived, %d redacted: %q is there %d times, want %d: %s", old, redacted, text, strings.Count(got, text), n, got)
		}
	}
	p := want[previews](t, b, "sessions.preview", `{"keys":["agent:eden:s1"]}`).Previews[0]
	if p.Status != "ok" || len(p.Items) != 3 || !strings.HasPrefix(p.Items[0].Text, "[archived") || p.Items[1].Text != "[redacted]" || p.Items[2].Text != "today" {
		t.Errorf("%+v", p)
	}
}
