package server

import (
	"context"

	"github.com/pronto-lab/openclawd/services/samplework"
)

// runSampleWork gives the sample team new work until ctx ends, if the options say so. It starts when the tables and the log are up to date.
func (p *Program) runSampleWork(ctx context.Context) error {
	if p.opts.SampleWork <= 0 || p.agents == nil {
		return nil
	}
	if !p.catchesUp(ctx) {
		return nil
	}
	return samplework.New(samplework.Options{Log: p.log, Tools: p.agents.tools, Schedules: p.agents.schedules,
		Every: p.opts.SampleWork, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "sample")}).Run(ctx)
}
