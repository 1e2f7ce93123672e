package sessiontools

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/tools"
)

// usualModel stands for the agent's model.
const usualModel = "default"

// errGone reports that the session does not exist.
var errGone = errors.New("no such session")

// setModel sets the model of a session, or returns a refusal.
func (s *status) setModel(ctx context.Context, call *tools.Call, asked, model string) (refused *refusal, err error) {
	var one *sessions.Session
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
		model = call.Config.FullModel(agent, model)
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
	if wrong := (*session.Refusal)(nil); errors.As(err, &wrong) {
		return refuse(statusError, wrong.Text)
	}
	if errors.Is(err, errGone) {
		return refuse(statusError, "the session has not started")
	}
	return nil, err
}

func (s *status) patch(ctx context.Context, call *tools.Call, key coordination.SessionKey, values map[string]json.RawMessage) error {
	by, actor := "agent/"+call.AgentID, eventstore.ActorAgent
	if call.RunID == "" {
		by, actor = cmp.Or(call.By, string(call.Entry)), eventstore.ActorSystem
	}
	command := session.PatchCommand{
		Command: session.Command{By: by, NewID: s.NewID()}, Values: values,
		Model: call.Config.ModelFor(cmp.Or(key.Agent, call.Config.DefaultAgentID())).Primary,
	}
	at := s.Now().UnixMilli()
	_, err := s.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		state, found, err := sessions.Load(tx, key)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errGone
		}
		events, err := session.Patch(state, command, func(label string) (string, error) { return sessions.LabelHolder(tx, label) })
		if err != nil {
			return nil, err
		}
		return sessions.Append(state, actor, at, events)
	})
	return err
}
