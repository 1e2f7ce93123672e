package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/maintenance/verify"
)

const (
	// chainSettle delays verification after startup: the server may be importing, or about to stop again.
	chainSettle = 5 * time.Minute
	// chainRetry is the delay before the next verification after one that could not be completed, or found damage.
	chainRetry = time.Hour
	// chainRest is the pause between two pages of events, as a multiple of the time the page took.
	chainRest = 3
)

// chainCheck verifies the log's hash chain periodically. The last result is saved beside the database, so that it
// survives a restart.
type chainCheck struct {
	log    *sqlite.DB
	every  time.Duration // interval between the starts of two verifications; 0: never
	settle time.Duration
	now    func() time.Time
	rest   func(ctx context.Context, d time.Duration) error // an error if ctx ends first
	logger *slog.Logger

	mu    sync.Mutex
	state chainState
}

// chainState is the state of chain verification.
type chainState struct {
	Every   time.Duration
	Started time.Time // start of the server, or of the first read of the saved result
	Running bool
	Next    time.Time
	Last    *verify.Check // the newest completed verification; nil: none known
	Error   string        // why the newest attempt could not be completed
}

func (p *Program) newChainCheck() *chainCheck {
	return &chainCheck{log: p.log, every: p.opts.Verify, settle: p.limits.chainSettle, now: p.opts.Now, rest: wait.For,
		logger: p.opts.Logger.With("component", "verify")}
}

// verifyChain verifies until ctx ends. It starts when imports and rebuilds are done.
func (p *Program) verifyChain(ctx context.Context) error {
	<-p.caughtUp
	return p.chain.run(ctx)
}

// State returns the state of verification. It may be called at any time.
func (c *chainCheck) State() chainState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *chainCheck) update(change func(*chainState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.state)
}

// loadSaved reads the saved result of an earlier server, if it belongs to this log.
func (c *chainCheck) loadSaved(ctx context.Context) {
	last, err := verify.LastCheck(ctx, c.log)
	if err != nil {
		c.logger.Warn("cannot read the last chain verification result", "err", err)
	}
	c.update(func(s *chainState) { s.Every, s.Started, s.Last = c.every, c.now(), last })
}

func (c *chainCheck) run(ctx context.Context) error {
	if c.every <= 0 {
		<-ctx.Done()
		return nil
	}
	next := c.firstDue()
	for {
		c.update(func(s *chainState) { s.Next = next.UTC().Truncate(time.Second) })
		if c.rest(ctx, next.Sub(c.now())) != nil {
			return nil
		}
		started := c.now()
		next = started.Add(c.every)
		err := c.once(ctx)
		if last := c.State().Last; err != nil || last.Error != "" {
			next = started.Add(min(chainRetry, c.every))
		}
		if err != nil && ctx.Err() == nil {
			c.logger.Error("cannot verify the chain; will retry", "retry_at", next.UTC().Format(time.RFC3339), "err", err)
		}
	}
}

// firstDue is when this process's first verification is due.
func (c *chainCheck) firstDue() time.Time {
	settled := c.now().Add(c.settle)
	last := c.State().Last
	if last == nil || last.Error != "" {
		return settled
	}
	if due := last.At.Add(c.every); due.After(settled) {
		return due
	}
	return settled
}

// once reads the whole log through the pool of readers, page by page with pauses. Damage is a result, not an error.
func (c *chainCheck) once(ctx context.Context) (err error) {
	c.update(func(s *chainState) { s.Running = true })
	defer func() {
		c.update(func(s *chainState) {
			s.Running, s.Error = false, ""
			if err != nil && ctx.Err() == nil {
				s.Error = err.Error()
			}
		})
	}()
	started := time.Now()
	page := started
	found, err := verify.CheckChain(ctx, c.log, func(int64, int64) {
		_ = c.rest(ctx, min(chainRest*time.Since(page), time.Second))
		page = time.Now()
	})
	if err != nil {
		return err
	}
	found.At, found.TookMs = c.now().UTC(), time.Since(started).Milliseconds()
	if found.Error == "" {
		c.logger.Info("chain verified", "seq", found.Seq, "took", time.Since(started).Round(time.Millisecond))
	} else {
		c.logger.Error("chain verification failed: the log is damaged", "code", found.Code, "err", found.Error)
	}
	c.update(func(s *chainState) { s.Last = found })
	if err := found.Note(c.log); err != nil {
		c.logger.Warn("cannot save verification result", "err", err)
	}
	return nil
}

// overdue reports whether the newest verification is older than two intervals.
func (s *chainState) overdue(now time.Time) bool {
	since := s.Started
	if s.Last != nil {
		since = s.Last.At
	}
	return s.Every > 0 && !s.Running && !since.IsZero() && now.Sub(since) > 2*s.Every
}

// chainReasons reports that the log is damaged, or was not verified in time.
func (f *facts) chainReasons() []health.Reason {
	last := f.chain.Last
	switch {
	case last != nil && last.Error != "":
		return []health.Reason{{Code: health.CodeChainBroken, What: fmt.Sprintf("the log is damaged, found by the verification at %s: %s", last.At.Format(time.RFC3339), last.Error),
			Hint: "openclawd verify shows details; restore an earlier backup, or put the missing archive back"}}
	case f.chain.overdue(f.at):
		what := "the chain was never verified"
		if last != nil {
			what = "the chain was last verified at " + last.At.Format(time.RFC3339)
		}
		if f.chain.Error != "" {
			what += "; the newest attempt failed: " + f.chain.Error
		}
		return []health.Reason{{Code: health.CodeChainOverdue, What: what, Hint: "run openclawd verify --chain, and check the server's log for the reason"}}
	}
	return nil
}

// chainStatus is the state of verification, for GET /api/status.
func (p *Program) chainStatus() *health.ChainState {
	s := p.chain.State()
	state := &health.ChainState{Next: s.Next, Running: s.Running, Error: s.Error}
	if s.Every > 0 {
		state.Every = s.Every.String()
	}
	if s.Last != nil {
		state.Last, state.Seq, state.TookMs, state.Broken = s.Last.At, s.Last.Seq, s.Last.TookMs, s.Last.Error
		ok := s.Last.Error == ""
		state.OK = &ok
	}
	return state
}

// addChain adds the metrics of chain verification. Before the first one they have no values.
func (c *metricsCollector) addChain() {
	for _, m := range []struct {
		name, help string
		value      func(*verify.Check) float64
	}{
		{"verified_seq", "Seq up to which the newest verification found the chain intact.", func(l *verify.Check) float64 { return float64(l.Seq) }},
		{"verified_timestamp_seconds", "End time of the newest chain verification, s since 1970.", func(l *verify.Check) float64 { return float64(l.At.Unix()) }},
		{"verified_duration_seconds", "Duration of the newest chain verification, including pauses.", func(l *verify.Check) float64 { return float64(l.TookMs) / 1000 }},
		{"verified_ok", "0 if the newest chain verification found damage.", func(l *verify.Check) float64 { return boolValue(l.Error == "") }},
	} {
		c.add(prometheus.GaugeValue, "chain_"+m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.chain.Last != nil {
				tell(m.value(f.chain.Last))
			}
		})
	}
}
