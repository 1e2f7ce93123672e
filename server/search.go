package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/search"
)

// openSearch opens the search file beside the log, for the API. Only search depends on it, so failure does not prevent
// serving.
func (p *Program) openSearch(ctx context.Context) {
	logger := p.opts.Logger.With("component", "search")
	if p.searchErr = p.tryOpenSearch(ctx, logger); p.searchErr != nil && ctx.Err() == nil {
		logger.Error("search is unavailable until the next start", "err", p.searchErr)
	}
}

func (p *Program) tryOpenSearch(ctx context.Context, logger *slog.Logger) (err error) {
	if p.searchFile, err = sqlite.OpenSide(ctx, database.SearchFile(p.log.Path()), false); err != nil {
		return err
	}
	p.search, err = search.Open(ctx, search.Options{Log: p.log.Trailing(), File: p.searchFile, Rules: p.opts.Rules, Logger: logger, Rest: halfDuty(p.opts.Now)})
	return err
}

// feedSearch indexes stored events into the search file, until ctx ends.
func (p *Program) feedSearch(ctx context.Context) error {
	if p.search == nil {
		return nil
	}
	p.answered.wait(ctx)
	return p.search.Run(ctx)
}

// closeSearch closes the search file. It must not be used any more.
func (p *Program) closeSearch() error {
	if p.searchFile == nil {
		return nil
	}
	return p.searchFile.Close()
}

// searchState is nil before the search file is opened.
func (p *Program) searchState() *health.SearchState {
	switch {
	case p.searchErr != nil:
		return &health.SearchState{Error: p.searchErr.Error()}
	case p.search == nil:
		return nil
	}
	at := p.search.Status()
	state := &health.SearchState{Seq: at.Seq, Lag: at.Lag()}
	if at.Err != nil {
		state.Error = at.Err.Error()
	}
	return state
}

// halfDuty returns a function that pauses its caller for as long as it worked since the last pause, limiting it to
// half a processor.
func halfDuty(now func() time.Time) func(context.Context) {
	const longest = 100 * time.Millisecond
	rested := now()
	return func(ctx context.Context) {
		worked := min(now().Sub(rested), longest)
		_ = wait.For(ctx, worked)
		rested = now()
	}
}
