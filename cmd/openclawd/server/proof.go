package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/cmd/openclawd/proof"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

const (
	// chainSettle is left to a server that has just begun: it may be importing, and may be on its way down again.
	chainSettle = 5 * time.Minute
	// chainRetry lies between a check that could not be made, or has found something, and the next one.
	chainRetry = time.Hour
	// chainRest is how long a check rests between two pages of events, in times of what the page took.
	chainRest = 3
)

// chainCheck proves the chain of the log again and again. What it found last is noted beside the database, so that a restart changes nothing.
type chainCheck struct {
	log    *sqlite.DB
	every  time.Duration // from the start of one check to that of the next; 0: never
	settle time.Duration
	now    func() time.Time
	rest   func(ctx context.Context, d time.Duration) bool // false if ctx ends before
	logger *slog.Logger

	mu    sync.Mutex
	state chainState
}

// chainState is how the checks of the chain stand.
type chainState struct {
	Every   time.Duration
	Begun   time.Time // of the server, or rather of the first look at what was noted
	Running bool
	Next    time.Time
	Last    *proof.Check // the newest check that came to an end; nil: none is known
	Error   string       // why the newest attempt did not come to an end
}

func (p *Program) newChainCheck() *chainCheck {
	return &chainCheck{log: p.log, every: p.opts.Verify, settle: p.limits.chainSettle, now: p.opts.Now, rest: restFor,
		logger: p.opts.Logger.With("component", "verify")}
}

// restFor waits.
func restFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// verifyChain checks until ctx ends. It begins when nothing is left to import or to rebuild.
func (p *Program) verifyChain(ctx context.Context) error {
	<-p.caughtUp
	return p.chain.run(ctx)
}

// State says how the checks stand. It may be called at any time.
func (c *chainCheck) State() chainState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *chainCheck) change(change func(*chainState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.state)
}

// look takes what an earlier server has noted, if it is of this log.
func (c *chainCheck) look(ctx context.Context) {
	last, err := proof.LastCheck(ctx, c.log)
	if err != nil {
		c.logger.Warn("what the last check of the chain has found is not known", "err", err)
	}
	c.change(func(s *chainState) { s.Every, s.Begun, s.Last = c.every, c.now(), last })
}

func (c *chainCheck) run(ctx context.Context) error {
	if c.every <= 0 {
		<-ctx.Done()
		return nil
	}
	next := c.first()
	for {
		c.change(func(s *chainState) { s.Next = next.UTC().Truncate(time.Second) })
		if !c.rest(ctx, next.Sub(c.now())) {
			return nil
		}
		begun := c.now()
		next = begun.Add(c.every)
		err := c.once(ctx)
		if last := c.State().Last; err != nil || last.Error != "" {
			next = begun.Add(min(chainRetry, c.every))
		}
		if err != nil && ctx.Err() == nil {
			c.logger.Error("the chain could not be checked", "again", next.UTC().Format(time.RFC3339), "err", err)
		}
	}
}

// first is when the first check of this process is due.
func (c *chainCheck) first() time.Time {
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

// once reads the whole log, a page at a time with rests between, through the pool of readers. Something that does not hold is no error: it is what
// was found.
func (c *chainCheck) once(ctx context.Context) (err error) {
	c.change(func(s *chainState) { s.Running = true })
	defer func() {
		c.change(func(s *chainState) {
			s.Running, s.Error = false, ""
			if err != nil && ctx.Err() == nil {
				s.Error = err.Error()
			}
		})
	}()
	begun := time.Now()
	page := begun
	found, err := proof.CheckChain(ctx, c.log, func(int64, int64) {
		c.rest(ctx, min(chainRest*time.Since(page), time.Second))
		page = time.Now()
	})
	if err != nil {
		return err
	}
	found.At, found.TookMs = c.now().UTC(), time.Since(begun).Milliseconds()
	if found.Error == "" {
		c.logger.Info("the chain holds", "seq", found.Seq, "took", time.Since(begun).Round(time.Millisecond))
	} else {
		c.logger.Error("the chain does not hold", "code", found.Code, "err", found.Error)
	}
	c.change(func(s *chainState) { s.Last = found })
	if err := found.Note(c.log); err != nil {
		c.logger.Warn("what was found of the chain is not noted: after a restart nobody knows of it", "err", err)
	}
	return nil
}

// overdue reports whether the newest check is older than two of the pauses in which they are to be made.
func (s *chainState) overdue(now time.Time) bool {
	since := s.Begun
	if s.Last != nil {
		since = s.Last.At
	}
	return s.Every > 0 && !s.Running && !since.IsZero() && now.Sub(since) > 2*s.Every
}

// chainReasons says that the log is not what was appended, or that nobody knows.
func (f *facts) chainReasons() []monitor.Reason {
	last := f.chain.Last
	switch {
	case last != nil && last.Error != "":
		return []monitor.Reason{{Code: "chain_broken", What: fmt.Sprintf("the log does not hold, as the check of %s has found: %s", last.At.Format(time.RFC3339), last.Error),
			Mend: "openclawd verify says more; restore a backup made before, or put the archive back that is missing"}}
	case f.chain.overdue(f.at):
		what := "the chain was never checked"
		if last != nil {
			what = "the chain was last checked at " + last.At.Format(time.RFC3339)
		}
		if f.chain.Error != "" {
			what += "; the newest attempt failed: " + f.chain.Error
		}
		return []monitor.Reason{{Code: "chain_overdue", What: what, Mend: "run openclawd verify --chain, and look at the log for why it was not checked"}}
	}
	return nil
}

// chainStatus is how the checks stand, for GET /api/status.
func (p *Program) chainStatus() *monitor.ChainState {
	s := p.chain.State()
	state := &monitor.ChainState{Next: s.Next, Running: s.Running, Error: s.Error}
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

// addChain adds what is told of the checks of the chain. Before there was one they have no values.
func (c *figures) addChain() {
	for _, m := range []struct {
		name, help string
		value      func(*proof.Check) float64
	}{
		{"verified_seq", "Up to which event the newest check of the chain has found everything as it was appended.", func(l *proof.Check) float64 { return float64(l.Seq) }},
		{"verified_timestamp_seconds", "When the newest check of the chain has ended, s since 1970.", func(l *proof.Check) float64 { return float64(l.At.Unix()) }},
		{"verified_duration_seconds", "How long the newest check of the chain took, rests included.", func(l *proof.Check) float64 { return float64(l.TookMs) / 1000 }},
		{"verified_ok", "0 when the newest check of the chain has found that it does not hold.", func(l *proof.Check) float64 { return bit(l.Error == "") }},
	} {
		c.add(prometheus.GaugeValue, "chain_"+m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.chain.Last != nil {
				tell(m.value(f.chain.Last))
			}
		})
	}
}
