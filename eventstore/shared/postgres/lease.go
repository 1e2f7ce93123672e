package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Acquire implements shared.Log. Time is that of the database.
func (l *Log) Acquire(ctx context.Context, node string, ttl time.Duration) (shared.Lease, error) {
	token := rand.Text()
	done, err := l.pool.Exec(ctx, "INSERT INTO "+l.schema+".lease AS held VALUES (true, $1, $2, now() + $3)"+
		" ON CONFLICT (one) DO UPDATE SET node = $1, token = $2, until = now() + $3 WHERE held.node = $1 OR held.until <= now()", node, token, ttl)
	if err != nil {
		return shared.Lease{}, err
	}
	if done.RowsAffected() == 0 {
		return shared.Lease{}, l.held(ctx)
	}
	head, err := shared.Open(ctx, l, node)
	if err != nil {
		return shared.Lease{}, err
	}
	return shared.Lease{Node: node, Epoch: head.Epoch, Head: head, Token: token}, nil
}

// held says who holds the lease.
func (l *Log) held(ctx context.Context) error {
	held := &shared.HeldError{}
	err := l.pool.QueryRow(ctx, "SELECT node FROM "+l.schema+".lease").Scan(&held.Node)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	return held
}

// Renew implements shared.Log.
func (l *Log) Renew(ctx context.Context, held shared.Lease, ttl time.Duration) error {
	done, err := l.pool.Exec(ctx, "UPDATE "+l.schema+".lease SET until = now() + $2 WHERE token = $1", held.Token, ttl)
	if err == nil && done.RowsAffected() == 0 {
		return l.held(ctx)
	}
	return err
}

// Release implements shared.Log.
func (l *Log) Release(ctx context.Context, held shared.Lease) error {
	_, err := l.pool.Exec(ctx, "DELETE FROM "+l.schema+".lease WHERE token = $1", held.Token)
	return err
}

// HandOver implements shared.Log.
func (l *Log) HandOver(ctx context.Context, held shared.Lease, to string, ttl time.Duration) error {
	_, err := l.pool.Exec(ctx, "UPDATE "+l.schema+".lease SET node = $2, token = $3, until = now() + $4 WHERE token = $1", held.Token, to, rand.Text(), ttl)
	return err
}

// Revoke implements shared.Log.
func (l *Log) Revoke(ctx context.Context, node string) error {
	_, err := l.pool.Exec(ctx, "DELETE FROM "+l.schema+".lease WHERE node = $1", node)
	return err
}

// Announce implements shared.Log.
func (l *Log) Announce(ctx context.Context, node string, text []byte, ttl time.Duration) error {
	_, err := l.pool.Exec(ctx, "INSERT INTO "+l.schema+".nodes VALUES ($1, $2, now() + $3) ON CONFLICT (node) DO UPDATE SET said = $2, until = now() + $3",
		node, text, ttl)
	return err
}

// Announced implements shared.Log.
func (l *Log) Announced(ctx context.Context) (map[string][]byte, error) {
	rows, err := l.pool.Query(ctx, "SELECT node, said FROM "+l.schema+".nodes WHERE until > now()")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	var node string
	var said []byte
	_, err = pgx.ForEachRow(rows, []any{&node, &said}, func() error {
		all[node], said = said, nil
		return nil
	})
	return all, err
}
