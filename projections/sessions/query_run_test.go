package sessions_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/projections/sessions"
)

// The messages of a run are those after the one with which it began, without those of others.
func TestMessagesOfARun(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, // seqs 1 to 7
		say(1, "main", "user", "before", `"sessionId":"t","runId":"r0"`),
		say(2, "main", "assistant", "answer before", `"runId":"r0"`),
		say(3, "main", "user", "question", `"runId":"r1"`),
		say(4, "main", "assistant", "calling", `"runId":"r1"`),
		say(5, "main", "system", "meanwhile"),
		say(6, "main", "tool", "result", `"runId":"r1"`),
		say(7, "main", "assistant", "answer", `"runId":"r1"`),
	)
	for name, c := range map[string]struct {
		q    sessions.RunQuery
		want []string
		cut  bool
	}{
		"all":                   {sessions.RunQuery{RunID: "r1", Limit: 9, MaxBytes: 1 << 20}, []string{"calling", "result", "answer"}, false},
		"over":                  {sessions.RunQuery{RunID: "r1", Over: 7, Limit: 9, MaxBytes: 1 << 20}, []string{"calling", "result", "answer"}, false},
		"the newest":            {sessions.RunQuery{RunID: "r1", Limit: 2, MaxBytes: 1 << 20}, []string{"result", "answer"}, true},
		"as many as fit":        {sessions.RunQuery{RunID: "r1", Limit: 9, MaxBytes: 1}, []string{"answer"}, true},
		"of the one before":     {sessions.RunQuery{RunID: "r0", Limit: 9, MaxBytes: 1 << 20}, []string{"answer before"}, false},
		"after it was queued":   {sessions.RunQuery{RunID: "r0", After: 2, Limit: 9, MaxBytes: 1 << 20}, nil, false},
		"of an unknown run":     {sessions.RunQuery{RunID: "r2", Limit: 9, MaxBytes: 1 << 20}, nil, false},
		"in another transcript": {sessions.RunQuery{RunID: "r1", Transcript: "u", Limit: 9, MaxBytes: 1 << 20}, nil, false},
	} {
		if c.q.Transcript == "" {
			c.q.Transcript = "t"
		}
		var list []sessions.Message
		var cut bool
		err := l.DB.View(t.Context(), func(tx *sql.Tx) (err error) {
			list, cut, err = sessions.OfRun(t.Context(), tx, c.q)
			return err
		})
		var texts []string
		for i := range list {
			texts = append(texts, list[i].Data.Text)
		}
		if err != nil || !slices.Equal(texts, c.want) || cut != c.cut {
			t.Errorf("%s: %q, cut %v, error %v; want %q, cut %v", name, texts, cut, err, c.want, c.cut)
		}
	}
	if err := l.DB.Redact(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	err := l.DB.View(t.Context(), func(tx *sql.Tx) error {
		list, cut, err := sessions.OfRun(t.Context(), tx, sessions.RunQuery{RunID: "r1", Transcript: "t", Limit: 9, MaxBytes: 1 << 20})
		if len(list) != 2 || !cut {
			t.Errorf("with a redacted message: %d messages, cut %v, want 2 and cut", len(list), cut)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
