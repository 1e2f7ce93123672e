package conversations_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

const minute = int64(60_000)

// archive is a log of work sessions over two days: some with conversations, some with tasks, some with both.
func archive(t *testing.T, n int) (f *folded, now float64) {
	t.Helper()
	f = fold(t, base)
	r := rand.New(rand.NewPCG(3, 3))
	var lines []string
	for i := range n {
		at := int64(i) * 48 * 60 * minute / int64(n)
		if i%3 != 0 {
			lines = append(lines, fmt.Sprintf("%d a2a.send workSessionId=ws%d conversationId=c%d message=배포", at, i, i))
		}
		if i%3 != 1 {
			lines = append(lines, fmt.Sprintf("%d task.started workSessionId=ws%d taskId=t%d", at+r.Int64N(3*60*minute), i, i))
		}
	}
	f.append(t, lines...)
	return f, float64(base + 48*60*minute)
}

func (f *folded) find(t *testing.T, q conversations.Query) *conversations.Found {
	t.Helper()
	return projectiontest.Read(t, f, func(ctx context.Context, tx *sql.Tx) (*conversations.Found, error) {
		return conversations.Find(ctx, tx, q)
	})
}

// Archived sessions are counted and listed as if each session were read, at any moment of an hour, with and without other filters.
func TestArchivedSessionsAreCounted(t *testing.T) {
	t.Parallel()
	f, now := archive(t, 200)
	open := false
	for _, scope := range []conversations.Scope{{}, {Roles: []string{"conversation.main"}}, {Types: []string{"task.started"}}} {
		for _, q := range []conversations.Query{{}, {Categories: []string{"infra_ops"}}, {Open: &open}} {
			for at := now - float64(2*60*minute); at <= now; at += float64(7 * minute) {
				q.Scope, q.Now, q.Limit, q.Statuses = scope, at, 1_000, []coordination.Status{coordination.StatusArchived}
				got := f.find(t, q)
				all := slices.Repeat(q.Statuses, 2) // the same filter, for which each session is read
				q.Statuses = all
				if diff := cmp.Diff(f.find(t, q), got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Kinds" }, cmp.Ignore())); diff != "" {
					t.Fatalf("%+v at %v (-want +got):\n%s", scope, at-now, diff)
				}
			}
		}
	}
}

// To count archived sessions, only those are read whose last event was in the hour that contains the bound: what the tables hold of later
// ones does not matter.
func TestRecentSessionsAreCountedNotRead(t *testing.T) {
	t.Parallel()
	f, now := archive(t, 100)
	q := conversations.Query{Scope: conversations.Scope{Roles: []string{"conversation.main"}}, Now: now, Limit: 10,
		Statuses: []coordination.Status{coordination.StatusArchived}}
	want := f.find(t, q)
	if want.Matched == 0 || want.Matched == want.Total {
		t.Fatalf("%d of %d sessions are archived", want.Matched, want.Total)
	}
	bound := conversations.Hour(now - coordination.ArchiveAfterMs)
	after := float64(bound+1) * conversations.HourMs
	for _, c := range []struct {
		what, statement string
		args            []any
	}{
		{"recent sessions were read", "UPDATE work_sessions SET last_time = -last_time WHERE last_time >= ?", []any{after}},
		{"restored", "UPDATE work_sessions SET last_time = -last_time WHERE last_time < 0", nil},
		{"between an update and the end of the rebuild", "DELETE FROM session_hours", nil},
	} {
		err := f.Exclusive(t.Context(), func(tx eventstore.Tx) error {
			_, err := tx.Exec(c.statement, c.args...)
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.find(t, q); got.Matched != want.Matched || !maps.Equal(got.Categories, want.Categories) {
			t.Errorf("%s: %d match, want %d: %v, want %v", c.what, got.Matched, want.Matched, got.Categories, want.Categories)
		}

	}
}
