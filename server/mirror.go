package server

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// newMirror continues the coordination log of the state directory, or returns nil where another gateway writes it.
func (p *Program) newMirror() *ndjson.Mirror {
	if !p.opts.Mirror || p.follows() {
		return nil
	}
	return ndjson.NewMirror(ndjson.MirrorOptions{
		Log: p.log.Paced(), StateDir: p.opts.StateDir, Internal: coordination.Internal, Mark: database.MirrorFile(p.opts.DB),
		Wrote:  func(string, int) { p.liveLogChanged("change") },
		Logger: p.opts.Logger.With("component", "mirror"),
	})
}

// runMirror mirrors until ctx ends. Without a mirror it does nothing.
func (p *Program) runMirror(ctx context.Context) error {
	if p.mirror == nil {
		return nil
	}
	return p.mirror.Run(ctx)
}

// mirrorState is the state of the mirror, for readiness and metrics.
type mirrorState struct {
	On      bool   // false: another gateway writes the log, or it is sample data
	File    string // the live log
	Seq     int64  // all events up to here that belong in the files are there
	Lag     int64  // events not processed yet
	Lines   int64  // written since the start
	Error   string // why it cannot continue; "" if it can
	Foreign bool   // another process writes the log too
}

func (p *Program) mirrorStatus(ctx context.Context) mirrorState {
	if p.mirror == nil {
		return mirrorState{}
	}
	s := p.mirror.Status()
	state := mirrorState{On: true, File: s.File, Seq: s.Seq, Lines: s.Lines, Error: s.Error, Foreign: s.Foreign}
	if head, err := p.log.Head(ctx); err == nil {
		state.Lag = max(head.Seq-s.Seq, 0)
	}
	return state
}
