package continuation

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	decide "github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuation"
)

// Explained is what would be done about an agent now.
type Explained struct {
	decide.Decision
	Text        string // the same in words
	State       decide.State
	Seq         int64 // of the log, as it was read
	At          int64 // ms since 1970
	RestartedAt int64 // likewise; 0: no restart is known
}

// Explain says what would be done about an agent now, why, and when it is looked at again. ok is false for no agent of the configuration that has
// tasks.
func Explain(ctx context.Context, tx *sql.Tx, conf *config.Config, agent string, now, restartedAt time.Time) (e Explained, ok bool, err error) {
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
	if e.State, err = continuation.Load(read, agent); err != nil {
		return e, true, err
	}
	e.At, e.RestartedAt = now.UnixMilli(), s.RestartedAt
	e.Decision = decide.Next(s, e.At)
	e.Text = decide.Explain(e.Decision, e.At)
	return e, true, nil
}
