package sessions_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func (l *log) kept(t *testing.T, c *sessions.Cache, limit int) []sessions.Message {
	t.Helper()
	reader := c.Open()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return reader.Newest(ctx, tx, "t1", limit, 1<<20)
	})
}

// spoil makes the data of all events useless, as if they were other ones.
func (l *log) spoil(t *testing.T) {
	t.Helper()
	err := l.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		for _, statement := range []string{"DROP TRIGGER events_are_only_blanked", `UPDATE events SET data = '{"text":"spoiled"}' WHERE data IS NOT NULL`} {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// A message is read from the log once, however often its transcript is; what comes later is read beside it, and what is redacted is gone.
func TestMessagesAreReadOnce(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, event(1, "created", created))
	for i := range int64(20) {
		l.append(t, say(2+i, "main", "user", fmt.Sprint("message ", i)))
	}
	c := sessions.NewCache(1<<20, l.Mark)
	first := l.kept(t, c, 10)
	if diff := cmp.Diff(l.newest(t, "t1", 10, 1<<20), first); diff != "" {
		t.Fatalf("-without a cache +with one:\n%s", diff)
	}
	if err := l.Redact(t.Context(), first[3].Seq); err != nil {
		t.Fatal(err)
	}
	l.spoil(t)
	l.append(t, say(30, "main", "assistant", "later"))
	var got []string
	for _, m := range l.kept(t, c, 12) {
		got = append(got, fmt.Sprint(m.After, " ", m.Redacted, " ", m.Data.Text))
	}
	want := []string{"11 false spoiled", "10 false message 10", "9 false message 11", "8 false message 12", "7 true ", "6 false message 14", "5 false message 15",
		"4 false message 16", "3 false message 17", "2 false message 18", "1 false message 19", "0 false later"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The cache keeps what was read last, within its size.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, event(1, "created", created))
	for i := range int64(100) {
		l.append(t, say(2+i, "main", "user", strings.Repeat("x", 1_000)))
	}
	c := sessions.NewCache(100_000, l.Mark)
	l.kept(t, c, 100)
	l.kept(t, c, 5)
	l.spoil(t)
	spoiled := 0
	for _, m := range l.kept(t, c, 100) {
		if m.Data.Text == "spoiled" {
			spoiled++
		}
	}
	if spoiled < 50 || spoiled > 95 {
		t.Errorf("%d of 100 messages were read again", spoiled)
	}
	if newest := l.kept(t, c, 1); newest[0].Data.Text == "spoiled" {
		t.Error("the message that was read last is not kept")
	}
}
