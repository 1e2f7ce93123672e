package server

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/search"
)

// openSearch opens the search file beside the log, for the API. Without one everything but search works, so it is no reason not to serve.
func (p *Program) openSearch(ctx context.Context) {
	logger := p.opts.Logger.With("component", "search")
	file, err := sqlite.OpenSide(ctx, database.SearchFile(p.log.Path()), false)
	if err != nil {
		logger.Error("there is no search", "err", err)
		return
	}
	p.searchFile = file
	index, err := search.Open(ctx, search.Options{Log: p.log, File: file, Rules: p.opts.Rules, Logger: logger, Rest: restAsLong(p.opts.Now)})
	if err != nil {
		logger.Error("there is no search", "err", err)
		return
	}
	p.search = index
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

// searchState is nil while there is no search.
func (p *Program) searchState() *monitor.SearchState {
	if p.search == nil {
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
