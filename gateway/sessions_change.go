package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type sessionChange struct {
	key    coordination.SessionKey
	expect string        // required id of the transcript; "": any
	makes  bool          // create the session if it does not exist
	id     eventstore.ID // required id of the last event; zero: any. The log has at most one.
	// decide returns what happens. It reads only from tx.
	decide func(tx eventstore.Tx, s session.State, c session.Command) ([]session.Event, error)
}

type changeResult struct {
	before session.State   // before; the session did not exist if ID is empty
	events []session.Event // the events; none if nothing changed
	at     int64           // when, ms since 1970
	seq    int64           // log position right after the change
}

func (d *changeResult) after() session.State {
	s := d.before
	s.Settings = maps.Clone(s.Settings)
	if s.Settings == nil {
		s.Settings = session.Settings{}
	}
	for _, e := range d.events {
		switch data := e.Data.(type) {
		case coordination.Session:
			s.ID = data.SessionID
		case coordination.SessionPatched:
			var set session.Settings
			_ = json.Unmarshal(data.Set, &set) // an object written by the decision, or nothing
			maps.Copy(s.Settings, set)
			for _, name := range data.Unset {
				delete(s.Settings, name)
				if name == "label" {
					s.Label = ""
				}
			}
			if label := s.Settings.Text("label"); label != "" {
				s.Label = label
				delete(s.Settings, "label")
			}
		}
	}
	return s
}

// codeSessionChanged refuses a change based on an outdated session.
const codeSessionChanged = "session_changed"

// change applies a change, if allowed, and returns when it is on disk.
func (s *Server) change(ctx context.Context, call *wire.Call, c *config.Config, want sessionChange) (done changeResult, err error) {
	command := session.Command{By: clientOf(call.Peer), NewID: s.opts.NewID()}
	done.at = s.opts.Now().UnixMilli()
	result, err := s.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		state, _, err := sessions.Load(tx, want.key)
		if err != nil {
			return nil, err
		}
		done.before, done.events = state, nil
		if done.events, err = want.on(c, tx, state, command); err != nil {
			return nil, err
		}
		appends, err := sessions.Append(state, actorOf(call.Peer), done.at, done.events)
		if err == nil && !want.id.IsZero() {
			last := appends[len(appends)-1].Events
			last[len(last)-1].ID = want.id
		}
		return appends, err
	})
	done.seq = result.Seq
	if err == nil {
		after := done.after()
		s.notifier.listeners.show(want.key.String(), after.Settings.Text("verboseLevel") == verboseFull)
	}
	return done, refusalOf(err)
}

// allowed returns why a change would be refused now, before other work is done for it. It changes nothing.
func (s *Server) allowed(ctx context.Context, c *config.Config, want sessionChange) error {
	if s.opts.Runs == nil {
		return nil // nothing else to do
	}
	state := session.State{Key: want.key}
	one, err := s.sessionByKey(ctx, want.key)
	switch {
	case err != nil:
		return err
	case one != nil:
		state.ID, state.UpdatedAt = one.ID, one.UpdatedAt
	}
	_, err = want.on(c, nil, state, session.Command{})
	return refusalOf(err)
}

// on applies a change's events to a session.
func (w *sessionChange) on(c *config.Config, tx eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
	if !state.Exists() && w.makes {
		if err := mayHaveSessions(c, "key", agentOf(c, w.key)); err != nil {
			return nil, err
		}
	}
	if w.expect != "" && w.expect != state.ID {
		return nil, &session.Refusal{Reason: codeSessionChanged, Field: "expectedSessionId", Value: w.expect,
			Text: "session " + w.key.String() + " has another transcript now"}
	}
	return w.decide(tx, state, by)
}

// sessionAfter is a session as a change left it, regardless of later changes.
func (s *Server) sessionAfter(ctx context.Context, key coordination.SessionKey, done changeResult) (*sessions.Session, error) {
	one, err := s.sessionByKey(ctx, key)
	if err != nil || one != nil && one.Seq <= done.seq {
		return one, err
	}
	after := done.after()
	return &sessions.Session{Key: key.String(), Agent: key.Agent, Kind: key.Kind, ID: after.ID, Label: after.Label, Settings: after.Settings,
		CreatedAt: done.at, UpdatedAt: done.at, Seq: done.seq}, nil
}

// clientOf names a client in events: the program and its instance.
func clientOf(p *wire.Peer) string {
	name := p.Client.ID
	if which := cmp.Or(p.Client.DisplayName, p.Client.InstanceID); which != "" {
		name += "/" + which
	}
	return name
}

// actorOf is who acts through a client: a person, or a program on its own.
func actorOf(p *wire.Peer) eventstore.Actor {
	switch p.Client.Mode {
	case "ui", "cli", "webchat":
		return eventstore.ActorHuman
	}
	return eventstore.ActorSystem
}

// rejectWebchat refuses what visitors' chat pages may not do. The Control UI belongs to the operator.
func rejectWebchat(p *wire.Peer, what string) error {
	if p.Client.Mode != "webchat" || p.Client.ID == "openclaw-control-ui" {
		return nil
	}
	return invalidRequest("webchat clients cannot "+what+" sessions; use chat.send for session-scoped updates",
		fault{Field: "client.mode", Value: p.Client.Mode})
}

type patchAnswer struct {
	OK       bool           `json:"ok"`
	Path     string         `json:"path"`
	Key      string         `json:"key"`
	Entry    map[string]any `json:"entry"`
	Resolved modelRef       `json:"resolved"`
}

// patchSession sets or clears settings of a session. A missing session is created.
func (s *Server) patchSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Key      string `json:"key"`
		Agent    string `json:"agentId"`
		Expected string `json:"expectedSessionId"`
	}](call)
	if err != nil {
		return nil, err
	}
	values, err := settingsOf(call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "key", p.Key, p.Agent)
	if err != nil {
		return nil, err
	}
	if err := rejectWebchat(call.Peer, "patch"); err != nil {
		return nil, err
	}
	one, err := s.set(ctx, call, c, sessionChange{key: key, expect: p.Expected, makes: true}, values)
	if err != nil {
		return nil, err
	}
	return patchAnswer{OK: true, Path: s.opts.Database, Key: key.String(), Entry: entryOf(one, call.Peer.Protocol), Resolved: modelOf(c, one)}, nil
}

// set changes a setting of a session and returns the session after it.
func (s *Server) set(ctx context.Context, call *wire.Call, c *config.Config, want sessionChange,
	values map[string]json.RawMessage) (*sessions.Session, error) {
	key := want.key
	var err error
	if spawner, _ := coordination.StringValue(values["spawnedBy"]); key.Kind == coordination.KeySubagent && spawner != "" {
		if spawner, err = spawnerOf(c, spawner); err != nil {
			return nil, err
		}
		if values["spawnedBy"], err = encoded(spawner); err != nil {
			return nil, err
		}
	}
	var unknown error // reported only if nothing else is wrong
	if name, _ := coordination.StringValue(values["model"]); name != "" {
		if name, unknown = modelAsked(c, agentOf(c, key), name); unknown == nil {
			if values["model"], err = encoded(name); err != nil {
				return nil, err
			}
		}
	}
	want.decide = func(tx eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
		events, err := session.Patch(state, session.PatchCommand{Command: by, Values: values, Model: c.ModelFor(agentOf(c, key)).Primary},
			func(label string) (string, error) { return sessions.LabelHolder(tx, label) })
		if err == nil {
			err = unknown
		}
		return events, err
	}
	done, err := s.change(ctx, call, c, want)
	if err != nil {
		return nil, err
	}
	return s.sessionAfter(ctx, key, done)
}

// settingsOf are the settings a patch names. Unsupported settings of protocol 4 are refused, unless they ask for what
// is the case anyway.
func settingsOf(call *wire.Call) (map[string]json.RawMessage, error) {
	params, err := paramsOf[map[string]json.RawMessage](call)
	if err != nil {
		return nil, err
	}
	values, known := map[string]json.RawMessage{}, session.Settable()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		switch {
		case slices.Contains(known, name):
			values[name] = value
		case name == "key", name == "agentId", name == "autoLabel", strings.HasPrefix(name, "expected"),
			string(value) == "null", string(value) == "false":
		default:
			return nil, invalidRequest("sessions.patch: "+name+" is not supported", fault{Code: "not_kept", Field: name, Hint: "leave it out", Known: known})
		}
	}
	return values, nil
}

type resetAnswer struct {
	OK    bool           `json:"ok"`
	Key   string         `json:"key"`
	Entry map[string]any `json:"entry"`
}

// resetSession gives a session a new transcript and keeps the old one. Its runs are stopped first. A missing session
// is created.
func (s *Server) resetSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Key      string `json:"key"`
		Reason   string `json:"reason"`
		Agent    string `json:"agentId"`
		Expected string `json:"expectedSessionId"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "key", p.Key, p.Agent)
	if err != nil {
		return nil, err
	}
	want := sessionChange{key: key, expect: p.Expected, makes: true,
		decide: func(_ eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
			return session.Reset(state, session.ResetCommand{Command: by, Reason: p.Reason})
		}}
	if err := s.allowed(ctx, c, want); err != nil {
		return nil, err
	}
	if _, err := s.clear(ctx, call, key, "reset"); err != nil {
		return nil, err
	}
	done, err := s.change(ctx, call, c, want)
	if err != nil {
		return nil, err
	}
	one, err := s.sessionAfter(ctx, key, done)
	if err != nil {
		return nil, err
	}
	return resetAnswer{OK: true, Key: key.String(), Entry: entryOf(one, call.Peer.Protocol)}, nil
}

type deleteAnswer struct {
	OK       bool     `json:"ok"`
	Key      string   `json:"key"`
	Deleted  bool     `json:"deleted"`
	Archived []string `json:"archived"` // transcripts no longer listed; the log still has them
}

// deleteSession deletes a session and, unless told otherwise, all transcripts of its key from the lists. Its runs are
// stopped first.
func (s *Server) deleteSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Key              string `json:"key"`
		DeleteTranscript *bool  `json:"deleteTranscript"`

		// Protocol 4.
		Agent        string `json:"agentId"`
		Expected     string `json:"expectedSessionId"`
		UpdatedAt    *int64 `json:"expectedSessionUpdatedAt"`
		ArchivedOnly bool   `json:"archivedOnly"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "key", p.Key, p.Agent)
	if err != nil {
		return nil, err
	}
	if err := rejectWebchat(call.Peer, "delete"); err != nil {
		return nil, err
	}
	if p.ArchivedOnly {
		return nil, invalidRequest("session "+key.String()+" is not archived", fault{Code: "not_archived", Field: "archivedOnly", Value: "true",
			Hint: "sessions are not archived here; leave archivedOnly out"})
	}
	keep := p.DeleteTranscript != nil && !*p.DeleteTranscript
	stopped := false
	want := sessionChange{key: key, expect: p.Expected,
		decide: func(_ eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
			if p.UpdatedAt != nil && !stopped && state.Exists() && state.UpdatedAt != *p.UpdatedAt {
				return nil, &session.Refusal{Reason: codeSessionChanged, Field: "expectedSessionUpdatedAt", Value: strconv.FormatInt(*p.UpdatedAt, 10),
					Text: "session " + key.String() + " has changed meanwhile"}
			}
			return session.Delete(state, session.DeleteCommand{Command: by, Main: mainSessionOf(c, c.DefaultAgentID()), KeepTranscript: keep})
		}}
	if err := s.allowed(ctx, c, want); err != nil {
		return nil, err
	}
	if stopped, err = s.clear(ctx, call, key, "delete"); err != nil {
		return nil, err
	}
	done, err := s.change(ctx, call, c, want)
	if err != nil {
		return nil, err
	}
	a := deleteAnswer{OK: true, Key: key.String(), Deleted: done.before.Exists(), Archived: []string{}}
	if a.Deleted && !keep && done.before.Messages > 0 {
		a.Archived = append(a.Archived, done.before.ID)
	}
	return a, nil
}

type compactAnswer struct {
	OK        bool   `json:"ok"`
	Key       string `json:"key"`
	Compacted bool   `json:"compacted"`
	Reason    string `json:"reason,omitempty"`
	Kept      *int64 `json:"kept,omitempty"` // messages
}

// compactSession changes nothing and says so: the log keeps transcripts whole, and an agent truncates them to its
// model's context.
func (s *Server) compactSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Key   string `json:"key"`
		Agent string `json:"agentId"`
	}](call)
	if err != nil {
		return nil, err
	}
	key, err := keyAsked(s.opts.Configuration.InForce(), "key", p.Key, p.Agent)
	if err != nil {
		return nil, err
	}
	one, err := s.sessionByKey(ctx, key)
	if err != nil {
		return nil, err
	}
	a := compactAnswer{OK: true, Key: key.String()}
	switch {
	case one == nil:
		a.Reason = "no sessionId"
	case one.Messages == 0:
		a.Reason = "no transcript"
	default:
		a.Reason, a.Kept = "transcripts are kept whole", &one.Messages
	}
	return a, nil
}
