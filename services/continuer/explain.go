package continuer

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
)

// Explain returns what would be done about an agent now, why, and when it is checked next. ok is false for an agent that is not
// configured or has no tasks.
func Explain(ctx context.Context, tx *sql.Tx, conf *config.Config, agent string, now, restartedAt time.Time) (e continuation.Explained, ok bool, err error) {
	agent = strings.ToLower(agent)
	if !slices.Contains(conf.Workers(), agent) {
		return e, false, nil
	}
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&e.Seq); err != nil {
		return e, true, fmt.Errorf("read the head of the log: %w", err)
	}
	read := projections.Reading(ctx, tx)
	s, err := situation(read, conf, agent, now, restartedAt)
	if err != nil {
		return e, true, err
	}
	if e.State, err = continuations.Load(read, agent); err != nil {
		return e, true, err
	}
	e.At, e.RestartedAt = now.UnixMilli(), s.RestartedAt
	e.Decision = continuation.Next(s, e.At)
	e.Text = continuation.Explain(e.Decision, e.At)
	return e, true, nil
}
