package sessions_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// BenchmarkManySessions asks about 100,000 sessions.
func BenchmarkManySessions(b *testing.B) {
	l := setup(b)
	for at := 0; at < 100_000; at += 1_000 {
		events := make([]eventstore.NewEvent, 1_000)
		for i := range events {
			events[i] = event(int64(at+i), "patched", fmt.Sprintf(`"sessionKey":"agent:eden:s%d","sessionId":"id-%d","set":{"label":"이름 %d"}`, at+i, at+i, at+i))
		}
		l.append(b, events...)
	}
	for name, ask := range map[string]func(ctx context.Context, tx *sql.Tx) (int, error){
		"a page": func(ctx context.Context, tx *sql.Tx) (int, error) {
			list, err := sessions.List(ctx, tx, sessions.Query{Limit: 100})
			return len(list), err
		},
		"the last page": func(ctx context.Context, tx *sql.Tx) (int, error) {
			list, err := sessions.List(ctx, tx, sessions.Query{Limit: 100, Offset: 99_900})
			return len(list), err
		},
		"5000 rows": func(ctx context.Context, tx *sql.Tx) (int, error) {
			list, err := sessions.List(ctx, tx, sessions.Query{Limit: 5_000})
			return len(list), err
		},
		"a search": func(ctx context.Context, tx *sql.Tx) (int, error) {
			list, err := sessions.List(ctx, tx, sessions.Query{Search: "이름 9999", Limit: 100})
			return len(list), err
		},
		"a search in vain": func(ctx context.Context, tx *sql.Tx) (int, error) {
			list, err := sessions.List(ctx, tx, sessions.Query{Search: "nowhere", Limit: 100})
			return 1 + len(list), err
		},
		"their number": func(ctx context.Context, tx *sql.Tx) (int, error) { return sessions.Total(ctx, tx, sessions.Query{}) },
		"an idle agent's": func(ctx context.Context, tx *sql.Tx) (int, error) {
			list, err := sessions.List(ctx, tx, sessions.Query{Agent: "seum", Limit: 5})
			return 1 + len(list), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := l.View(b.Context(), func(tx *sql.Tx) error {
					n, err := ask(b.Context(), tx)
					if err == nil && n == 0 {
						err = fmt.Errorf("nothing found")
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
