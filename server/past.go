package server

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/services/continuer"
	"github.com/pronto-lab/openclawd/tools/collabtools"
)

// past is the snapshots as of earlier events. It implements monitor.Past.
type past struct {
	*asof.Cache[*pastMoment]
}

// pastMoment is a snapshot, and the API's data source as of it.
type pastMoment struct {
	state  *asof.State
	moment *monitor.Moment
}

// At implements monitor.Past.
func (p past) At(ctx context.Context, seq int64) (*monitor.Moment, func(), snapshot.Progress, bool, error) {
	m, release, progress, ready, err := p.Cache.At(ctx, seq)
	if !ready || err != nil {
		return nil, release, progress, ready, err
	}
	return m.moment, release, progress, true, nil
}

// newPast answers as of earlier points from snapshots.
func (p *Program) newPast() *past {
	db := p.log.Path()
	return &past{asof.NewCache(asof.CacheOptions[*pastMoment]{
		Options: asof.Options{Log: p.log, Dir: asof.Dir(db), Rules: p.opts.Rules, Logger: p.opts.Logger.With("component", "as_of")},
		Keeping: asof.Keeping{MaxBytes: p.pastBytes, After: pastAfter},
		Now:     p.opts.Now, Make: p.momentOf, Hold: pastHold,
		FreeSpace: func() (int64, bool) { return backup.Free(db) }, MinFree: database.DiskLow,
	})}
}

// pastBytes is the number of bytes that kept states may have.
func (p *Program) pastBytes() int64 {
	if p.opts.PastBytes == nil {
		return 0
	}
	g := p.log.Gauges()
	return p.opts.PastBytes(g.DatabaseBytes + g.WALBytes)
}

// pastState is what is on disk for answers as of earlier events.
func (p *Program) pastState() health.PastState {
	s := p.past.Status()
	return health.PastState{Snapshots: s.Snapshots, SnapshotBytes: s.SnapshotBytes, States: s.States, Bytes: s.Bytes, MaxBytes: s.MaxBytes,
		UpTo: s.UpTo, WidestGap: s.WidestGap}
}

// pastAfter is how long a server runs before it makes states in the background: clients that come back after a restart are served first.
const pastAfter = 30 * time.Second

// pastHold is how long a request waits for its snapshot before it is answered with the progress.
const pastHold = 2 * time.Second

// runPast builds requested snapshots until ctx ends.
func (p *Program) runPast(ctx context.Context) error { return p.past.Run(ctx) }

// closePast closes the snapshots. No request may use them any more.
func (p *Program) closePast() error {
	if p.past == nil {
		return nil
	}
	return p.past.Close()
}

// momentOf is the API's data source as of a snapshot.
func (p *Program) momentOf(ctx context.Context, s *asof.State) (*pastMoment, error) {
	m := &monitor.Moment{Seq: s.Until(), Now: s.At, Store: s}
	if p.sql != nil {
		m.SQL = p.sql.past(s.Scratch)
	}
	if m.Seq == 0 {
		m.Now = time.UnixMilli(0)
	}
	c, whole, err := p.configurationAt(ctx, m.Seq)
	if err != nil {
		return nil, err
	}
	if !whole {
		return &pastMoment{s, m}, nil
	}
	m.Team = func() []config.Agent { return c.Agents }
	m.Home = func(agent string) string { return p.homeOf(c, agent) }
	m.Policy = func(from, to string) (policy.Policy, error) { return access.Explain(c, from, to) }
	m.PolicyMatrix = func(from string, most int) (policy.Matrix, error) { return access.ExplainAll(c, from, most) }
	if p.agents != nil {
		m.Reminders = func(place string) response.Policy { return collabtools.Tracking(c, place) }
		var restartedAt time.Time // the start of an earlier process is not in the log
		if !m.Now.Before(p.startedAt) {
			restartedAt = p.agents.restartedAt
		}
		m.Continuation = func(ctx context.Context, tx *sql.Tx, agent string) (continuation.Explained, bool, error) {
			return continuer.Explain(ctx, tx, c, agent, m.Now, restartedAt)
		}
	}
	return &pastMoment{s, m}, nil
}

// homeOf is an agent's workspace under a configuration, at its current path.
func (p *Program) homeOf(c *config.Config, agent string) string {
	return prompt.Directory(c, p.opts.StateDir, cmp.Or(p.opts.getenv("HOME"), p.opts.StateDir), agent)
}

// configurationAt is the configuration in force at an event, without secrets. whole is false if the log lacks its settings. Before the
// first recorded one the defaults were in force.
func (p *Program) configurationAt(ctx context.Context, seq int64) (c *config.Config, whole bool, err error) {
	version, err := p.log.StreamVersion(ctx, coordination.ConfigStream)
	if err != nil {
		return nil, false, err
	}
	const page = 32
	for ; version > 0; version -= page {
		events, err := p.log.ReadStream(ctx, coordination.ConfigStream, max(0, version-page), int(min(page, version)))
		if err != nil {
			return nil, false, err
		}
		for i := len(events) - 1; i >= 0; i-- {
			if e := &events[i]; e.Seq <= seq && e.Type == coordination.TypeConfigApplied && e.Actor != eventstore.ActorImport && !e.Redacted() {
				return configurationIn(e)
			}
		}
	}
	return config.Default(), true, nil
}

// configurationIn is the configuration that an event put in force.
func configurationIn(e *eventstore.Event) (c *config.Config, whole bool, err error) {
	var applied coordination.ConfigApplied
	if err := json.Unmarshal(e.Data, &applied); err != nil {
		return nil, false, fmt.Errorf("read the configuration of event %d: %w", e.Seq, err)
	}
	if len(applied.Settings) == 0 {
		return nil, false, nil
	}
	c, whole = config.FromApplied(applied.Settings)
	return c, whole, nil
}
