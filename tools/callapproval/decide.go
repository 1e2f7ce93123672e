package callapproval

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Approve permits a call, and with a scope such calls of the agent from now on, also those that wait. The runs that wait go on. Errors are *permission.Refusal,
// or the log's; so are those of the functions below.
func (s *Service) Approve(ctx context.Context, id, person, scope string) (*permission.Approval, error) {
	return s.decide(ctx, id, permission.Decision{Status: permission.Approved, Scope: scope, By: person})
}

// Answer gives what a call waits for as input, and has it made again.
func (s *Service) Answer(ctx context.Context, id, person string, values map[string]json.RawMessage) (*permission.Approval, error) {
	return s.decideWith(ctx, id, permission.Decision{Status: permission.Approved, By: person}, values)
}

// Reject refuses a call. The agent is told the reason, which may be "".
func (s *Service) Reject(ctx context.Context, id, person, reason string) (*permission.Approval, error) {
	return s.decide(ctx, id, permission.Decision{Status: permission.Rejected, By: person, Reason: reason})
}

func (s *Service) decide(ctx context.Context, id string, d permission.Decision) (*permission.Approval, error) {
	return s.decideWith(ctx, id, d, nil)
}

func (s *Service) decideWith(ctx context.Context, id string, d permission.Decision, given map[string]json.RawMessage) (*permission.Approval, error) {
	return s.change(ctx, id, func(tx eventstore.Tx, a *permission.Approval, now int64) ([]eventstore.StreamAppend, error) {
		_, err := a.Decide(d, now) // before anything else: one that was decided takes no values
		d := d
		if err == nil && d.Status == permission.Approved {
			d.Values, err = approvable(tx, a, given)
		}
		if err != nil {
			return nil, err
		}
		e, err := a.Decide(d, now)
		if err != nil {
			return nil, err
		}
		appends, err := appendTo(a, e, eventstore.ActorHuman, now)
		if err != nil {
			return nil, err
		}
		a.Status, a.Scope, a.DecidedBy, a.Reason, a.DecidedAt = d.Status, d.Scope, d.By, d.Reason, now
		woken, err := wake(tx, a, now)
		if err != nil {
			return nil, err
		}
		others, err := decideCovered(tx, a, now)
		return slices.Concat(appends, woken, others), err
	})
}

// approvable returns the values that are given with an approval. It refuses those that do not fit what is asked for, and an approval of a
// call whose arguments are not kept: earlier versions did not keep long ones. No one can see what it would permit.
func approvable(tx eventstore.Tx, a *permission.Approval, given map[string]json.RawMessage) (values json.RawMessage, err error) {
	shown, _, err := permissions.Show(tx, a.ID)
	switch {
	case err != nil:
		return nil, err
	case shown.Arguments != nil && !permission.IsInput(a.ID) && len(given) > 0:
		return nil, &permission.Refusal{Reason: permission.CodeInvalid, Field: "values", Text: "the call " + a.ID + " asks for no values", HintText: "leave them out"}
	case shown.Arguments != nil && !permission.IsInput(a.ID):
		return nil, nil
	case shown.Arguments != nil && shown.Input != nil:
		return valuesOf(a.ID, shown.Input, given)
	}
	return nil, &permission.Refusal{Reason: permission.CodeUnseen, Field: "id", Value: a.ID, Text: "the arguments of the call " + a.ID + " are not kept, so it cannot be approved",
		HintText: "reject it, and have the agent make it again"}
}

// decideCovered approves the other calls that wait and that a lasting permission covers, each for itself, and wakes their runs.
func decideCovered(tx eventstore.Tx, lasting *permission.Approval, now int64) (appends []eventstore.StreamAppend, err error) {
	if !lasting.Lasts() {
		return nil, nil
	}
	covered, err := permissions.Covered(tx, lasting, now)
	if err != nil {
		return nil, err
	}
	awake := map[string]bool{lasting.FirstRunID: true} // a run is woken once
	for i := range covered {
		a := &covered[i]
		e, err := a.Decide(permission.Decision{Status: permission.Approved, By: lasting.DecidedBy}, now)
		if err != nil {
			return nil, err
		}
		decided, err := appendTo(a, e, eventstore.ActorHuman, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, decided...)
		if awake[a.FirstRunID] {
			continue
		}
		awake[a.FirstRunID] = true
		woken, err := wake(tx, a, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, woken...)
	}
	return appends, nil
}

// Revoke takes a lasting permission back.
func (s *Service) Revoke(ctx context.Context, id, person string) (*permission.Approval, error) {
	return s.change(ctx, id, func(_ eventstore.Tx, a *permission.Approval, now int64) ([]eventstore.StreamAppend, error) {
		e, err := a.Revoke(person, now)
		if err != nil {
			return nil, err
		}
		a.RevokedAt = now
		return appendTo(a, e, eventstore.ActorHuman, now)
	})
}

// change changes an approval in a transaction, and returns it as it is then.
func (s *Service) change(ctx context.Context, id string, how func(tx eventstore.Tx, a *permission.Approval, now int64) ([]eventstore.StreamAppend, error)) (*permission.Approval, error) {
	var changed *permission.Approval
	var refusal *permission.Refusal
	_, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		changed, refusal = nil, nil
		a, found, err := permissions.Load(tx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			refusal = &permission.Refusal{Reason: permission.CodeUnknown, Field: "id", Text: "there is no such call", HintText: "openclawd approvals lists what waits"}
			return nil, nil
		}
		appends, err := how(tx, a, s.o.Now().UnixMilli())
		if errors.As(err, &refusal) {
			return nil, nil
		}
		changed = a
		return appends, err
	})
	if err == nil && refusal != nil {
		return nil, refusal
	}
	return changed, err
}

// wake has the run go on that waits for an approval, if it is parked. One that is about to park sees that it was decided.
func wake(tx eventstore.Tx, a *permission.Approval, now int64) ([]eventstore.StreamAppend, error) {
	if a.FirstRunID == "" {
		return nil, nil
	}
	r, found, err := runs.LoadLast(tx, a.FirstRunID)
	if err != nil || !found || !r.Parked() {
		return nil, err
	}
	e := run.Wake(r, a.ID, now)
	return eventstore.One(coordination.RunStream(r.RunID), eventstore.NewEvent{Type: e.Type, AgentID: r.AgentID, Actor: eventstore.ActorSystem}, e.Data, now)
}

// Then ends what a run has asked for and no one has decided, when the run ends for good.
func (s *Service) Then(tx eventstore.Tx, e *runner.EndedRun) (appends []eventstore.StreamAppend, err error) {
	open, err := permissions.OfRun(tx, run.RootOf(e.Result.RunID, e.Result.RetryOf))
	if err != nil {
		return nil, err
	}
	now := e.Now.UnixMilli()
	for i := range open {
		a := &open[i]
		status := permission.Cancelled
		if a.StatusAt(now) == permission.Expired {
			status = permission.Expired
		}
		closed, err := appendTo(a, a.Close(status, now), eventstore.ActorSystem, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, closed...)
	}
	return appends, nil
}
