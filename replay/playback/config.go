package playback

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Config returns the configuration in force at the current event, without secrets; the defaults if the log does not
// hold all of it.
func (p *Player) Config() *config.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

// Own reports whether agents have worked in this log: for agents of another gateway the log does not hold the state of
// tasks.
func (p *Player) Own() bool { return p.own }

// configIn returns the configuration that an event put in force; nil if it put none.
func configIn(e *eventstore.Event) *config.Config {
	if e.Type != coordination.TypeConfigApplied || e.Actor == eventstore.ActorImport || e.Redacted() {
		return nil
	}
	var applied coordination.ConfigApplied
	if json.Unmarshal(e.Data, &applied) != nil || len(applied.Settings) == 0 {
		return config.Default()
	}
	c, whole := config.FromApplied(applied.Settings)
	if !whole {
		return config.Default()
	}
	return c
}

const (
	selectConfigs = `SELECT seq FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?) AND seq <= ? ORDER BY version DESC LIMIT 20`
	selectOwn     = `SELECT EXISTS (SELECT 1 FROM streams WHERE name >= 'run/' AND name < 'run0')
 OR EXISTS (SELECT 1 FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = 1 WHERE s.name >= 'task/' AND s.name < 'task0' AND e.actor <> 'import')`
)

// settle reads the configuration in force before the first event of the range.
func (p *Player) settle(ctx context.Context) error {
	p.config = config.Default()
	var events []eventstore.Event
	err := p.opts.Log.View(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, selectOwn).Scan(&p.own); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, selectConfigs, coordination.ConfigStream, p.opts.From-1)
		if err != nil {
			return err
		}
		defer rows.Close()
		var seqs []int64
		for rows.Next() {
			var seq int64
			if err := rows.Scan(&seq); err != nil {
				return err
			}
			seqs = append(seqs, seq)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		events, err = p.opts.Log.EventsIn(ctx, tx, seqs)
		return err
	})
	for i := range events {
		if c := configIn(&events[i]); c != nil {
			p.config = c
			break
		}
	}
	return err
}
