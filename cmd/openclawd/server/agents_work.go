package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/work"
)

// workOf is what operators may do about what waits; nil: nothing of it is done here.
func (a *agents) workOf() monitor.Work {
	if a == nil {
		return nil
	}
	return a
}

// What begins the ids of those effects that are runs, and flows.
const (
	runEffect = work.KindRun + "/"
	jobEffect = work.KindJob + "/"
)

// Resend implements monitor.Work.
func (a *agents) Resend(ctx context.Context, effectID, by string) error {
	return workError(a.worker.Resend(ctx, effectID, by))
}

// Cancel implements monitor.Work. A run is stopped, and a flow ended, also while it is under way.
func (a *agents) Cancel(ctx context.Context, effectID, by string) error {
	if jobID, isJob := strings.CutPrefix(effectID, jobEffect); isJob {
		return a.cancelJob(ctx, jobID, by)
	}
	runID, isRun := strings.CutPrefix(effectID, runEffect)
	if !isRun {
		return workError(a.worker.Cancel(ctx, effectID, by))
	}
	stopped, err := a.runner.Stop(ctx, run.Stop{RunID: runID, Reason: "rpc", By: by})
	if refused, ok := errors.AsType[*run.Refusal](err); ok {
		return &monitor.WorkError{Text: refused.Text, Mend: refused.Mend}
	}
	if err == nil && len(stopped) == 0 {
		return &monitor.WorkError{Unknown: true, Text: fmt.Sprintf("no run %q is queued or running", runID), Mend: "GET /api/runs lists runs"}
	}
	return err
}

// cancelJob ends a flow and what it has begun, also if who has asked for it leaves meanwhile.
func (a *agents) cancelJob(ctx context.Context, jobID, by string) error {
	stopped, err := a.coordinator.Stop(context.WithoutCancel(ctx), jobID, by, monitor.CancelReason)
	if err == nil && len(stopped) == 0 {
		return &monitor.WorkError{Unknown: true, Text: fmt.Sprintf("no flow %q is open", jobID), Mend: "GET /api/a2a/jobs?open=true lists those that are"}
	}
	return err
}

// flowsOf is what operators may do about flows between agents; nil: none are here.
func (a *agents) flowsOf() monitor.Flows {
	if a == nil {
		return nil
	}
	return a.coordinator
}

// workError gives what the queue refuses the type of the API.
func workError(err error) error {
	refused, ok := errors.AsType[*decide.Refusal](err)
	if !ok {
		return err
	}
	return &monitor.WorkError{Unknown: refused.Reason == decide.CodeUnknown, Text: refused.Error(), Mend: refused.Mend}
}
