package storetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Histories are short: ids, streams and versions come from small pools, so that a few commands already collide, and
// the whole property stays below a thousand appends.
const minCommands, maxCommands = 5, 20

// RunProperty runs random histories against stores made by open and against the Model, and compares every answer and
// the resulting logs. A failing history is shrunk and printed with its seed; -rapid.checks sets how many are tried.
func RunProperty(t *testing.T, open Open) {
	history := rapid.SliceOfN(commands(), minCommands, maxCommands)
	rapid.Check(t, func(rt *rapid.T) {
		s := openSubject(t, open)
		defer s.finish(t)
		if diff := diverge(t, s, history.Draw(rt, "history")); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// diverge applies the history to s and to a new model, and describes the first difference. It returns "" if there is
// none.
func diverge(t testing.TB, s *subject, history []command) string {
	model := NewModel(s.clock.Now, eventstore.NewIDs(s.clock.Now, rand.Reader), rand.Reader)
	for i, c := range history {
		if diff := c.compare(t, s, model); diff != "" {
			return fmt.Sprintf("command %d, %+v: %s", i+1, c, diff)
		}
	}
	end := readAll{Limit: 1 << 20}
	if diff := end.compare(t, s, model); diff != "" {
		return "at the end: " + diff
	}
	if n, err := VerifyChain(s.ctx, s.Log); err != nil {
		return fmt.Sprintf("chain is sound only up to seq %d: %v", n, err)
	}
	return ""
}

// sameAnswer compares the answers of the store and the model to one query.
func sameAnswer(question string, got any, gotErr error, want any, wantErr error) string {
	if verdict(gotErr) != verdict(wantErr) {
		return fmt.Sprintf("%s: error is %v, the model's is %v", question, gotErr, wantErr)
	}
	if gotErr != nil {
		return ""
	}
	if diff := cmp.Diff(want, got, equalIfEmpty[eventstore.Event](), equalIfEmpty[eventstore.Stored](), withoutSalt); diff != "" {
		return fmt.Sprintf("%s (-model +store):\n%s", question, diff)
	}
	return ""
}

// withoutSalt clears what each store draws at random, and what is derived from it. The chain is verified separately.
var withoutSalt = cmp.Options{
	cmpopts.IgnoreFields(eventstore.Event{}, "Salt", "DataHash", "Hash"),
	cmpopts.IgnoreFields(eventstore.Head{}, "Hash"),
}

// verdict reduces an error to what a caller can decide by: its type and fields.
func verdict(err error) any {
	var (
		conflict *eventstore.ConflictError
		reuse    *eventstore.IDReuseError
		invalid  *eventstore.InvalidError
	)
	switch {
	case errors.As(err, &conflict):
		return *conflict
	case errors.As(err, &reuse):
		return *reuse
	case errors.As(err, &invalid):
		return *invalid
	case errors.Is(err, eventstore.ErrNotFound):
		return eventstore.ErrNotFound
	default:
		return err
	}
}
