package run_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// Every event moves a run in every state to one other state, or changes nothing. "" is a run that there is not.
func TestEveryEventMovesOrChangesNothing(t *testing.T) {
	t.Parallel()
	states := []run.State{"", run.Queued, run.Running, run.OK, run.Failed, run.Aborted, run.TimedOut, "unheard-of"}
	moves := map[string]map[run.State]run.State{
		coordination.TypeRunQueued:      {"": run.Queued},
		coordination.TypeRunStarted:     {run.Queued: run.Running},
		coordination.TypeRunParked:      {run.Running: run.Queued},
		coordination.TypeRunWoken:       {run.Queued: run.Queued},
		coordination.TypeRunEnded:       {run.Running: run.OK},
		coordination.TypeRunFailed:      {run.Queued: run.Failed, run.Running: run.Failed},
		coordination.TypeRunAborted:     {run.Queued: run.Aborted, run.Running: run.Aborted},
		coordination.TypeRunTimedOut:    {run.Running: run.TimedOut},
		coordination.TypeSessionMessage: {},
		"run.unheard_of":                {},
		"":                              {},
	}
	for typ, to := range moves {
		for _, from := range states {
			want, moved := to[from]
			if !moved {
				want = from
			}
			if got, is := run.Next(from, typ); got != want || is != moved {
				t.Errorf("%s of a run in state %q: %q, %v, want %q, %v", typ, from, got, is, want, moved)
			}
		}
	}
	for _, info := range coordination.Catalogue() {
		if _, listed := moves[info.Type]; len(info.Type) > 4 && info.Type[:4] == "run." && !listed {
			t.Errorf("%s is in no table", info.Type)
		}
	}
}

// What was over is never anything else again.
func TestNothingFollowsTheEnd(t *testing.T) {
	t.Parallel()
	for _, from := range []run.State{run.OK, run.Failed, run.Aborted, run.TimedOut} {
		for _, info := range coordination.Catalogue() {
			if to, moves := run.Next(from, info.Type); moves || to != from || !from.Over() {
				t.Errorf("%s makes %s of a run that was %s", info.Type, to, from)
			}
		}
	}
}
