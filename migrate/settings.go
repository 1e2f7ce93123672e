package migrate

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// settings takes over the label and the settings of a session, once for what they say: what was changed here since stays.
func (x *sessionTaker) settings() error {
	values := x.values()
	if len(values) == 0 {
		return nil
	}
	count := x.report.count(Settings)
	count.Found++
	if x.o.Log == nil {
		count.New++
		return nil
	}
	text, err := json.Marshal(values) // sorted by name
	if err != nil {
		return err
	}
	id := idOf(0, "settings", x.name, string(text))
	return x.writer.then(x.ctx, func() (told func(), err error) { return x.patchOnce(id, values, count) })
}

// patchOnce changes the settings of the session here, unless that was done before. told reports it.
func (x *sessionTaker) patchOnce(id eventstore.ID, values map[string]json.RawMessage, count *Count) (told func(), err error) {
	if _, err := x.o.Log.EventByID(x.ctx, id); err == nil {
		return func() { counted(count, true) }, nil
	} else if !errors.Is(err, eventstore.ErrNotFound) {
		return nil, err
	}
	var appends []eventstore.StreamAppend
	var refused []*session.Refusal
	_, err = x.o.Log.Decide(x.ctx, func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		appends, refused, err = x.patch(tx, id, maps.Clone(values))
		return appends, err
	})
	if err != nil {
		return nil, err
	}
	return func() {
		for _, r := range refused {
			x.leave(x.s.Place, ReasonSetting, r.Field+": "+r.Text, "")
		}
		counted(count, len(appends) == 0)
	}, nil
}

// values returns the settings by their sessions.patch names.
func (x *sessionTaker) values() map[string]json.RawMessage {
	e := &x.s.Entry
	values := map[string]json.RawMessage{}
	for name, raw := range e.Settings {
		values[name] = raw
	}
	for name, text := range map[string]string{"label": e.Label, "model": e.Model, "spawnedBy": e.SpawnedBy} {
		if text != "" {
			values[name], _ = json.Marshal(text) // texts always marshal
		}
	}
	if x.key.Kind != coordination.KeySubagent {
		delete(values, "spawnedBy")
		delete(values, "spawnDepth")
	}
	return values
}

// patch decides the change. A value that sessions here cannot have is left out.
func (x *sessionTaker) patch(tx eventstore.Tx, id eventstore.ID, values map[string]json.RawMessage) (_ []eventstore.StreamAppend, left []*session.Refusal, err error) {
	state, found, err := sessions.Load(tx, x.key)
	if err != nil || !found {
		return nil, nil, err
	}
	holder := func(label string) (string, error) { return sessions.LabelHolder(tx, label) }
	for {
		decided, err := session.Patch(state, session.PatchCommand{Command: session.Command{By: client}, Values: values}, holder)
		if refused, is := errors.AsType[*session.Refusal](err); is && values[refused.Field] != nil {
			delete(values, refused.Field)
			left = append(left, refused)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		appends, err := sessions.Append(state, eventstore.ActorSystem, max(x.s.Entry.UpdatedAt, x.ts), decided)
		for i := range appends {
			appends[i].Events[0].ID = id
		}
		return appends, left, err
	}
}
