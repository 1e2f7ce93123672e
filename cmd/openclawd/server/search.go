package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/search"
)

// openSearch opens the search file beside the log, for the API. Without one everything but search works, so it is no reason not to serve.
func (p *Program) openSearch(ctx context.Context) {
	logger := p.opts.Logger.With("component", "search")
	if p.searchErr = p.tryOpenSearch(ctx, logger); p.searchErr != nil && ctx.Err() == nil {
		logger.Error("there is no search until the next start", "err", p.searchErr)
	}
}

func (p *Program) tryOpenSearch(ctx context.Context, logger *slog.Logger) (err error) {
	if p.searchFile, err = sqlite.OpenSide(ctx, database.SearchFile(p.log.Path()), false); err != nil {
		return err
	}
	p.search, err = search.Open(ctx, search.Options{Log: p.log, File: p.searchFile, Rules: p.opts.Rules, Logger: logger, Rest: restAsLong(p.opts.Now)})
	return err
}

// feedSearch brings what is stored into the search file, until ctx ends.
func (p *Program) feedSearch(ctx context.Context) error {
	if p.search == nil {
		return nil
	}
	return p.search.Run(ctx)
}

// closeSearch closes the search file. Nothing may feed or read it any more.
func (p *Program) closeSearch() error {
	if p.searchFile == nil {
		return nil
	}
	return p.searchFile.Close()
}

// searchState is nil before the search file is opened.
func (p *Program) searchState() *monitor.SearchState {
	switch {
	case p.searchErr != nil:
		return &monitor.SearchState{Error: p.searchErr.Error()}
	case p.search == nil:
		return nil
	}
	at := p.search.Status()
	state := &monitor.SearchState{Seq: at.Seq, Lag: at.Lag()}
	if at.Err != nil {
		state.Error = at.Err.Error()
	}
	return state
}

// restAsLong makes whoever calls it rest for as long as it has worked since it rested last, so that it takes half a processor at most.
func restAsLong(now func() time.Time) func(context.Context) {
	const longest = 100 * time.Millisecond
	rested := now()
	return func(ctx context.Context) {
		worked := min(now().Sub(rested), longest)
		timer := time.NewTimer(max(worked, 0))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		rested = now()
	}
}
