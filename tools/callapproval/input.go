package callapproval

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/effects"
	"github.com/pronto-lab/openclawd/tools/once"
)

// inputID is the id of the request with a number for an input of a call.
func inputID(callID string, number int) string {
	sum := once.Digest("input", callID, strconv.Itoa(number))
	return permission.InputPrefix + hex.EncodeToString(sum[:10])
}

// Ask implements effects.Desk.
func (s *Service) Ask(tx eventstore.Tx, call *tools.Call, t *tools.Tool, callID string, in *coordination.CallInput) (waits *tool.WaitsError, refused string, appends []eventstore.StreamAppend, err error) {
	if _, err := in.Fields(); err != nil {
		return nil, err.Error(), nil, nil //nolint:nilerr // the agent is told
	}
	why := mayNotWait(call, &t.Spec)
	if why == nil {
		var result run.Result
		if result, _, err = runs.Load(tx, call.RunID); err != nil {
			return nil, "", nil, err
		}
		if result.State != run.Running {
			return nil, "its run is over", nil, nil
		}
		ask := permission.Ask{ID: inputID(callID, in.Number), FirstRunID: run.RootOf(call.RunID, result.RetryOf), Input: in, Now: s.o.Now().UnixMilli()}
		if why, appends, err = s.requestOf(tx, call, &t.Spec, &ask); err != nil {
			return nil, "", nil, err
		}
	}
	if errors.As(why, &waits) {
		return waits, "", appends, nil
	}
	return nil, why.Error(), nil, nil
}

// Given implements effects.Desk.
func (s *Service) Given(tx eventstore.Tx, callID string, number int) (*effects.Given, error) {
	now, id := s.o.Now().UnixMilli(), inputID(callID, number)
	a, found, err := permissions.Load(tx, id)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return &effects.Given{Refused: "The request for the input is not in the log any more."}, nil
	}
	g := &effects.Given{}
	switch a.StatusAt(now) {
	case permission.Pending:
		g.Waits = &tool.WaitsError{ApprovalID: id, Until: a.ExpireAt}
	case permission.Approved:
		err = s.fill(tx, g, a)
	case permission.Rejected:
		if g.Refused = "The server asked for input, which " + by(a) + " has refused"; a.Reason != "" {
			g.Refused += ": " + a.Reason
		}
	case permission.Expired:
		g.Refused = "The server asked for input, and no one has given it in time"
		if a.Status == permission.Pending {
			g.Appends, err = appendTo(a, a.Close(permission.Expired, now), eventstore.ActorSystem, now)
		}
	default:
		g.Refused = "The server asked for input, which is not wanted any more"
	}
	if g.Refused != "" {
		g.Refused += ". The call was not made again. Do not make it again unless you are told to."
	}
	return g, err
}

// fill adds what a person has given.
func (s *Service) fill(tx eventstore.Tx, g *effects.Given, a *permission.Approval) error {
	shown, _, err := permissions.Show(tx, a.ID)
	if err != nil {
		return err
	}
	if g.Values, err = permissions.Values(tx, a); err != nil {
		return err
	}
	if shown.Input == nil || g.Values == nil {
		g.Refused = "What was given as input is not in the log any more"
		return nil
	}
	g.Digest = shown.Input.Digest
	return nil
}

// valuesOf are the values that a person gives for an input. Errors are *permission.Refusal.
func valuesOf(id string, in *coordination.CallInput, given map[string]json.RawMessage) (json.RawMessage, error) {
	values, err := in.Values(given)
	var wrong *coordination.InputError
	if !errors.As(err, &wrong) {
		return values, err
	}
	r := &permission.Refusal{Reason: permission.CodeInvalid, Field: "values", Text: wrong.Error(), HintText: wrong.Hint}
	if wrong.Name != "" {
		r.Field += "." + coordination.Beginning(wrong.Name, 100)
	}
	if len(given) == 0 {
		r.HintText += ", with openclawd approvals approve " + id + " --set NAME=VALUE"
	}
	return nil, r
}
