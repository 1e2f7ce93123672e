package server

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/continuation"
)

// pastMoments answers of the past from the states that are kept. It implements monitor.Past.
type pastMoments struct{ *past.Cache[*monitor.Moment] }

func (p *Program) newPast() pastMoments {
	db := p.log.Path()
	return pastMoments{past.NewCache(past.CacheOptions[*monitor.Moment]{
		Options: past.Options{Log: p.log, Dir: past.Dir(db), Rules: p.opts.Rules, Logger: p.opts.Logger.With("component", "past")},
		Now:     p.opts.Now, Make: p.momentOf,
		Room: func() (int64, bool) { return backup.Free(db) }, Spare: database.DiskLow,
	})}
}

// At implements monitor.Past.
func (p pastMoments) At(_ context.Context, seq int64) (*monitor.Moment, func(), monitor.Making, error) {
	moment, release, far, ready, err := p.Cache.At(seq)
	if errors.Is(err, past.ErrBusy) {
		err = monitor.ErrPastBusy
	}
	if !ready {
		return nil, nil, monitor.Making(far), err
	}
	return moment, release, monitor.Making{}, nil
}

// runPast makes the states of the past that are asked for, until ctx ends.
func (p *Program) runPast(ctx context.Context) error { return p.past.Run(ctx) }

// closePast closes the states that are kept. Nobody answers any more.
func (p *Program) closePast() error {
	if p.past.Cache == nil {
		return nil
	}
	return p.past.Close()
}

// momentOf is what the API needs to answer as of a state.
func (p *Program) momentOf(ctx context.Context, s *past.State) (*monitor.Moment, error) {
	m := &monitor.Moment{Seq: s.Until(), Now: s.At, Store: s}
	if m.Seq == 0 {
		m.Now = time.UnixMilli(0)
	}
	c, whole, err := p.configurationAt(ctx, m.Seq)
	if err != nil || !whole {
		return m, err
	}
	m.Team = func() []monitor.Member { return membersOf(c) }
	m.Home = func(agent string) string { return p.homeOf(c, agent) }
	m.Policy = func(from, to string) (monitor.Policy, error) { return Explain(c, from, to) }
	if p.agents != nil {
		var restartedAt time.Time // when an earlier process began is not in the log
		if !m.Now.Before(p.startedAt) {
			restartedAt = p.agents.restartedAt
		}
		m.Continuation = func(ctx context.Context, tx *sql.Tx, agent string) (monitor.Explained, bool, error) {
			e, known, err := continuation.Explain(ctx, tx, c, agent, m.Now, restartedAt)
			return monitor.Explained(e), known, err
		}
	}
	return m, nil
}

// homeOf is the workspace of an agent by a configuration, as directories lie now.
func (p *Program) homeOf(c *config.Config, agent string) string {
	return prompt.Directory(c, p.opts.StateDir, cmp.Or(p.opts.getenv("HOME"), p.opts.StateDir), agent)
}

// membersOf are the agents of a configuration.
func membersOf(c *config.Config) (members []monitor.Member) {
	for _, a := range c.Agents {
		members = append(members, monitor.Member{ID: a.ID, Role: a.Role})
	}
	return members
}

// configurationAt is the configuration that was in force at an event, secrets aside. whole is false where the log holds none of its settings. Before any
// was applied the defaults were in force.
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

// configurationIn is the configuration that an event has put in force.
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
