package sessions_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Which messages of a transcript are redacted is read once, until the mark of the log says that it may have changed.
func TestPlacesAreReadOnce(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, event(1, "created", created))
	for i := range int64(5) {
		l.append(t, say(2+i, "main", "user", fmt.Sprint("message ", i)))
	}
	mark := l.Mark()
	c := sessions.NewCache(1<<20, func() eventstore.Mark { return mark })
	first := l.kept(t, c, 10)
	if err := l.Redact(t.Context(), first[1].Seq); err != nil {
		t.Fatal(err)
	}
	l.append(t, say(9, "main", "assistant", "later"))
	redacted := func(messages []sessions.Message) (list []bool) {
		for _, m := range messages {
			list = append(list, m.Redacted)
		}
		return list
	}
	if diff := cmp.Diff([]bool{false, false, false, false, false, false}, redacted(l.kept(t, c, 10))); diff != "" {
		t.Errorf("with the same mark (-want +got):\n%s", diff)
	}
	mark = l.Mark()
	if diff := cmp.Diff([]bool{false, true, false, false, false, false}, redacted(l.kept(t, c, 10))); diff != "" {
		t.Errorf("with another mark (-want +got):\n%s", diff)
	}
}

// A snapshot that is older than what is kept shows what it has shown before.
func TestOlderSnapshotsReadTheirOwnMessages(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, event(1, "created", created), say(2, "main", "user", "first"))
	c := sessions.NewCache(1<<20, l.Mark)
	reader := c.Open()
	old := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (texts []string, err error) {
		if _, err = sessions.Newest(ctx, tx, "t1", 10, 1<<20); err != nil { // the snapshot begins
			return nil, err
		}
		l.append(t, say(3, "main", "assistant", "second"))
		if got := l.kept(t, c, 10); len(got) != 2 {
			t.Errorf("%d messages in a new snapshot, want 2", len(got))
		}
		messages, err := reader.Newest(ctx, tx, "t1", 10, 1<<20)
		for _, m := range messages {
			texts = append(texts, m.Data.Text)
		}
		return texts, err
	})
	if diff := cmp.Diff([]string{"first"}, old); diff != "" {
		t.Errorf("in the older snapshot (-want +got):\n%s", diff)
	}
}

// A read that has its mark before a redaction and its snapshot after it shows nothing that was redacted.
func TestRedactionBetweenMarkAndSnapshot(t *testing.T) {
	t.Parallel()
	l := setup(t)
	c := sessions.NewCache(20_000, l.Mark)
	l.append(t, event(0, "created", `"sessionKey":"agent:eden:main","sessionId":"t1"`))
	l.append(t, say(1, "main", "user", "secret", `"sessionId":"t1"`))
	if got := l.kept(t, c, 10); len(got) != 1 {
		t.Fatalf("%d messages, want 1", len(got))
	}
	reader := c.Open()
	if err := l.Redact(t.Context(), l.newest(t, "t1", 1, 1<<20)[0].Seq); err != nil {
		t.Fatal(err)
	}
	got := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return reader.Newest(ctx, tx, "t1", 10, 1<<20)
	})
	if diff := cmp.Diff(l.newest(t, "t1", 10, 1<<20), got); diff != "" {
		t.Errorf("after the redaction (-log +cache):\n%s", diff)
	}
}

// Whatever happens to a session, a cache gives what the log has.
func TestKeptTranscriptsAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	l := setup(t)
	c := sessions.NewCache(20_000, l.Mark)
	random := rand.New(rand.NewPCG(1, 2))
	transcripts := 1
	l.append(t, event(0, "created", `"sessionKey":"agent:eden:main","sessionId":"t1"`))
	for ms := range int64(testscale.Of(150, 2_000)) {
		id := fmt.Sprint("t", 1+random.IntN(transcripts))
		switch random.IntN(20) {
		case 0:
			transcripts++
			l.append(t, event(ms, "reset", fmt.Sprintf(`"sessionKey":"agent:eden:main","sessionId":"t%d"`, transcripts)))
		case 1:
			if random.IntN(4) == 0 {
				l.append(t, event(ms, "deleted", `"sessionKey":"agent:eden:main"`))
			}
		case 2:
			if messages := l.newest(t, id, 5, 1<<20); len(messages) > 0 {
				if err := l.Redact(t.Context(), messages[0].Seq); err != nil {
					t.Fatal(err)
				}
			}
		default:
			l.append(t, say(ms, "main", "user", fmt.Sprint("message ", ms), fmt.Sprintf(`"sessionId":%q`, id)))
		}
		limit, reader := 1+random.IntN(40), c.Open()
		got := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
			return reader.Newest(ctx, tx, id, limit, 1<<20)
		})
		if diff := cmp.Diff(l.newest(t, id, limit, 1<<20), got); diff != "" {
			t.Fatalf("%d messages of %s after step %d (-log +cache):\n%s", limit, id, ms, diff)
		}
		shared := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]*sessions.Message, error) {
			return reader.Shared(ctx, tx, id, limit, 1<<20)
		})
		for i := range got {
			got[i].After = 0
		}
		if diff := cmp.Diff(got, valuesOf(shared)); diff != "" {
			t.Fatalf("%d messages of %s after step %d (-copied +shared):\n%s", limit, id, ms, diff)
		}
	}
}

func valuesOf(messages []*sessions.Message) (list []sessions.Message) {
	for _, m := range messages {
		list = append(list, *m)
	}
	return list
}
