package gateway_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

// A message that was shown before is neither read nor encoded again, and shown the same; a redacted one is shown as such at once.
func TestHistoryKeepsMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const key = "agent:eden:s1"
	b.say(t, key, numbered(20, `"author":"user","text":"message %d of \"messages\":[]"`)...)
	ask := func() []byte { return b.answer(t, "chat.history", `{"sessionKey":"`+key+`","limit":10}`) }
	old := ask()
	b.protocol = 4
	first := ask()
	redacted := b.events(t, "session/"+key)[15].Seq
	err := b.db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		for _, statement := range []string{"DROP TRIGGER events_are_only_blanked", `UPDATE events SET data = '{"author":"user","text":"another"}'`} {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again := ask(); !bytes.Equal(again, first) {
		t.Errorf("the second answer is\n%s\nthe first was\n%s", again, first)
	}
	if strings.Count(string(first), "of \\\"messages") != 10 || bytes.Contains(old, []byte(`"seq":`)) || !bytes.Contains(first, []byte(`"seq":20`)) {
		t.Errorf("protocol 3:\n%s\nprotocol 4:\n%s", old, first)
	}
	if err := b.db.Redact(t.Context(), redacted); err != nil {
		t.Fatal(err)
	}
	if got := string(ask()); strings.Count(got, "of \\\"messages") != 9 || !strings.Contains(got, redactedShown) {
		t.Errorf("after the redaction: %s", got)
	}
}

const redactedShown = "[redacted]"
