package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// workOf is the operators' access to work; nil: none here.
func (a *agents) workOf() monitor.Work {
	if a == nil {
		return nil
	}
	return a
}

// Prefixes of the ids of effects that are runs, and flows.
const (
	runEffect = workqueue.KindRun + "/"
	jobEffect = workqueue.KindJob + "/"
)

// Resend implements monitor.Work.
func (a *agents) Resend(ctx context.Context, effectID, by string) error {
	return a.worker.Resend(ctx, effectID, by)
}

// Cancel implements monitor.Work. A running run is stopped, an open flow cancelled.
func (a *agents) Cancel(ctx context.Context, effectID, by string) error {
	if jobID, isJob := strings.CutPrefix(effectID, jobEffect); isJob {
		return a.cancelJob(ctx, jobID, by)
	}
	runID, isRun := strings.CutPrefix(effectID, runEffect)
	if !isRun {
		return a.worker.Cancel(ctx, effectID, by)
	}
	stopped, err := a.runner.Stop(ctx, run.Stop{RunID: runID, Reason: "rpc", By: by})
	if refused, ok := errors.AsType[*run.Refusal](err); ok {
		return &work.Refusal{Reason: refused.Reason, Text: refused.Text, HintText: refused.HintText}
	}
	if err == nil && len(stopped) == 0 {
		return &work.Refusal{Reason: work.CodeUnknown, Text: fmt.Sprintf("no run %q is queued or running", runID), HintText: "GET /api/runs lists runs"}
	}
	return err
}

// cancelJob cancels a flow and everything it started, even if the caller goes away meanwhile.
func (a *agents) cancelJob(ctx context.Context, jobID, by string) error {
	stopped, err := a.stopper.Stop(context.WithoutCancel(ctx), jobID, by, monitor.CancelReason)
	if err == nil && len(stopped) == 0 {
		return &work.Refusal{Reason: work.CodeUnknown, Text: fmt.Sprintf("no flow %q is open", jobID), HintText: "GET /api/a2a/jobs?open=true lists the open flows"}
	}
	return err
}

// flowsOf is the operators' access to flows between agents; nil: none here.
func (a *agents) flowsOf() monitor.Flows {
	if a == nil {
		return nil
	}
	return a.stopper
}
