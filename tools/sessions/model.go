package sessions

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools"
)

// usualModel stands for the model of the agent.
const usualModel = "default"

// errGone ends a decision about a session that is not there.
var errGone = errors.New("no such session")

// setModel sets the model of a session, or says why it does not.
func (s *status) setModel(ctx context.Context, call *tools.Call, asked, model string) (refused *refusal, err error) {
	var one *session.Session
	err = s.Log.View(ctx, func(tx *sql.Tx) (err error) {
		one, refused, err = target(ctx, tx, call, asked)
		return err
	})
	if err != nil || refused != nil {
		return refused, err
	}
	refuse := func(status, why string) (*refusal, error) {
		return &refusal{status, why, coordination.Mask(asked)}, nil
	}
	agent := ownerOf(call.Config, one)
	if agent != call.AgentID {
		return refuse(statusForbidden, "an agent sets the models of its own sessions only")
	}
	value := json.RawMessage("null")
	if !strings.EqualFold(model, usualModel) {
		model = tools.WholeModel(call.Config, agent, model)
		if s.CheckModel != nil {
			if err := s.CheckModel(model); err != nil {
				return refuse(statusError, coordination.Mask(err.Error()))
			}
		}
		if value, err = tools.Encode(model); err != nil {
			return nil, err
		}
	}
	key, err := coordination.ParseSessionKey(one.Key)
	if err != nil {
		return nil, err
	}
	err = s.patch(ctx, call, key, map[string]json.RawMessage{"model": value})
	if wrong := (*decide.Refusal)(nil); errors.As(err, &wrong) {
		return refuse(statusError, wrong.Text)
	}
	if errors.Is(err, errGone) {
		return refuse(statusError, "the session has not begun")
	}
	return nil, err
}

// patch sets something for a session that there is.
func (s *status) patch(ctx context.Context, call *tools.Call, key coordination.SessionKey, values map[string]json.RawMessage) error {
	by, actor := "agent/"+call.AgentID, eventstore.ActorAgent
	if call.RunID == "" {
		by, actor = cmp.Or(call.By, string(call.Entry)), eventstore.ActorSystem
	}
	command := decide.PatchCommand{
		Command: decide.Command{By: by, NewID: s.NewID()}, Values: values,
		Model: call.Config.ModelFor(cmp.Or(key.Agent, call.Config.DefaultAgentID())).Primary,
	}
	at := s.Now().UnixMilli()
	_, err := s.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		state, found, err := session.Load(tx, key)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errGone
		}
		events, err := decide.Patch(state, command, func(label string) (string, error) { return session.LabelHolder(tx, label) })
		if err != nil {
			return nil, err
		}
		return session.Append(state, actor, at, events)
	})
	return err
}
