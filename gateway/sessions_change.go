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
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/session"
)

// change is what a client wants done to a session.
type change struct {
	key    coordination.SessionKey
	expect string        // the id that its transcript must have; "": any
	makes  bool          // a session that does not exist begins
	id     eventstore.ID // of the last event; zero: any. The log has one of it at most.
	// decide says what happens. It reads nothing but tx.
	decide func(tx eventstore.Tx, s decide.State, c decide.Command) ([]decide.Event, error)
}

// changed is what has become of a session.
type changed struct {
	before decide.State   // what it was; it did not exist if that has no ID
	events []decide.Event // what happened; nothing, if it was so already
	at     int64          // when, ms since 1970
	seq    int64          // of the log, right after the change
}

// after is what it is, right after the change.
func (d *changed) after() decide.State {
	s := d.before
	s.Settings = maps.Clone(s.Settings)
	if s.Settings == nil {
		s.Settings = decide.Settings{}
	}
	for _, e := range d.events {
		switch data := e.Data.(type) {
		case coordination.Session:
			s.ID = data.SessionID
		case coordination.SessionPatched:
			var set decide.Settings
			_ = json.Unmarshal(data.Set, &set) // an object that was written by the decision, or nothing
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

// codeSessionChanged refuses what was meant for the session as it was before.
const codeSessionChanged = "session_changed"

// change makes a change, if nothing stands against it, and returns when it is on disk.
func (s *Server) change(ctx context.Context, call *wire.Call, c *config.Config, want change) (done changed, err error) {
	command := decide.Command{By: clientOf(call.Peer), NewID: s.opts.NewID()}
	done.at = s.opts.Now().UnixMilli()
	result, err := s.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		state, _, err := session.Load(tx, want.key)
		if err != nil {
			return nil, err
		}
		done.before, done.events = state, nil
		if done.events, err = want.on(c, tx, state, command); err != nil {
			return nil, err
		}
		appends, err := session.Append(state, actorOf(call.Peer), done.at, done.events)
		if err == nil && !want.id.IsZero() {
			last := appends[len(appends)-1].Events
			last[len(last)-1].ID = want.id
		}
		return appends, err
	})
	done.seq = result.Seq
	if err == nil {
		after := done.after()
		s.teller.listeners.show(want.key.String(), after.Settings.Text("verboseLevel") == verboseFull)
	}
	return done, refusalOf(err)
}

// allowed says why a change would be refused as things are, before anything else is done for it. Nothing is changed.
func (s *Server) allowed(ctx context.Context, c *config.Config, want change) error {
	if s.opts.Runs == nil {
		return nil // there is nothing else to do
	}
	state := decide.State{Key: want.key}
	one, err := s.sessionByKey(ctx, want.key)
	switch {
	case err != nil:
		return err
	case one != nil:
		state.ID, state.UpdatedAt = one.ID, one.UpdatedAt
	}
	_, err = want.on(c, nil, state, decide.Command{})
	return refusalOf(err)
}

// on says what a change makes of a session.
func (w *change) on(c *config.Config, tx eventstore.Tx, state decide.State, by decide.Command) ([]decide.Event, error) {
	if !state.Exists() && w.makes {
		if err := mayHaveSessions(c, "key", agentOf(c, w.key)); err != nil {
			return nil, err
		}
	}
	if w.expect != "" && w.expect != state.ID {
		return nil, &decide.Refusal{Code: codeSessionChanged, Field: "expectedSessionId", Value: w.expect,
			Text: "session " + w.key.String() + " has another transcript now"}
	}
	return w.decide(tx, state, by)
}

// sessionAfter is a session as a change has left it, also if another one has come since.
func (s *Server) sessionAfter(ctx context.Context, key coordination.SessionKey, done changed) (*session.Session, error) {
	one, err := s.sessionByKey(ctx, key)
	if err != nil || one != nil && one.Seq <= done.seq {
		return one, err
	}
	after := done.after()
	return &session.Session{Key: key.String(), Agent: key.Agent, Kind: key.Kind, ID: after.ID, Label: after.Label, Settings: after.Settings,
		CreatedAt: done.at, UpdatedAt: done.at, Seq: done.seq}, nil
}

// clientOf names a client in events: the program, and which of those that run it is.
func clientOf(p *wire.Peer) string {
	name := p.Client.ID
	if which := cmp.Or(p.Client.DisplayName, p.Client.InstanceID); which != "" {
		name += "/" + which
	}
	return name
}

// actorOf is who acts through a client: a person, or a program by itself.
func actorOf(p *wire.Peer) eventstore.Actor {
	switch p.Client.Mode {
	case "ui", "cli", "webchat":
		return eventstore.ActorHuman
	}
	return eventstore.ActorSystem
}

// rejectWebchat refuses what pages in which visitors chat may not do. The Control UI is a page of the operator's.
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

// patchSession sets something for a session, or takes it away. A session that is not there begins.
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
	one, err := s.set(ctx, call, c, change{key: key, expect: p.Expected, makes: true}, values)
	if err != nil {
		return nil, err
	}
	return patchAnswer{OK: true, Path: s.opts.Database, Key: key.String(), Entry: entryOf(one, call.Peer.Protocol), Resolved: modelOf(c, one)}, nil
}

// set sets something for a session, and gives the session as it is then.
func (s *Server) set(ctx context.Context, call *wire.Call, c *config.Config, want change,
	values map[string]json.RawMessage) (*session.Session, error) {
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
	var unknown error // told where nothing else is wrong
	if name, _ := coordination.StringValue(values["model"]); name != "" {
		if name, unknown = modelAsked(c, agentOf(c, key), name); unknown == nil {
			if values["model"], err = encoded(name); err != nil {
				return nil, err
			}
		}
	}
	want.decide = func(tx eventstore.Tx, state decide.State, by decide.Command) ([]decide.Event, error) {
		events, err := decide.Patch(state, decide.PatchCommand{Command: by, Values: values, Model: c.ModelFor(agentOf(c, key)).Primary},
			func(label string) (string, error) { return session.LabelHolder(tx, label) })
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

// settingsOf are the settings that a patch names. What clients of protocol 4 may set and nothing here heeds is refused, unless it asks for
// what is so anyway: it is not taken and forgotten.
func settingsOf(call *wire.Call) (map[string]json.RawMessage, error) {
	params, err := paramsOf[map[string]json.RawMessage](call)
	if err != nil {
		return nil, err
	}
	values, known := map[string]json.RawMessage{}, decide.Settable()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		switch {
		case slices.Contains(known, name):
			values[name] = value
		case name == "key", name == "agentId", name == "autoLabel", strings.HasPrefix(name, "expected"),
			string(value) == "null", string(value) == "false":
		default:
			return nil, invalidRequest("sessions.patch: "+name+" is not kept here", fault{Code: "not_kept", Field: name, Mend: "leave it out", Known: known})
		}
	}
	return values, nil
}

type resetAnswer struct {
	OK    bool           `json:"ok"`
	Key   string         `json:"key"`
	Entry map[string]any `json:"entry"`
}

// resetSession lets a session start over: it has a new transcript, and the old one is kept. What it does is stopped before. A session that is
// not there begins.
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
	want := change{key: key, expect: p.Expected, makes: true,
		decide: func(_ eventstore.Tx, state decide.State, by decide.Command) ([]decide.Event, error) {
			return decide.Reset(state, decide.ResetCommand{Command: by, Reason: p.Reason})
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
	Archived []string `json:"archived"` // transcripts of which nothing is listed any more; the log has them still
}

// deleteSession takes a session away, and unless it is told otherwise what its key ever had for transcripts out of all lists. What it does is
// stopped before.
func (s *Server) deleteSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Key              string `json:"key"`
		DeleteTranscript *bool  `json:"deleteTranscript"`

		// Of protocol 4.
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
			Mend: "no session is archived here; leave archivedOnly out"})
	}
	keep := p.DeleteTranscript != nil && !*p.DeleteTranscript
	stopped := false
	want := change{key: key, expect: p.Expected,
		decide: func(_ eventstore.Tx, state decide.State, by decide.Command) ([]decide.Event, error) {
			if p.UpdatedAt != nil && !stopped && state.Exists() && state.UpdatedAt != *p.UpdatedAt {
				return nil, &decide.Refusal{Code: codeSessionChanged, Field: "expectedSessionUpdatedAt", Value: strconv.FormatInt(*p.UpdatedAt, 10),
					Text: "session " + key.String() + " has changed meanwhile"}
			}
			return decide.Delete(state, decide.DeleteCommand{Command: by, Main: mainSessionOf(c, c.DefaultAgentID()), KeepTranscript: keep})
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

// compactSession shortens nothing: the log keeps transcripts whole, and an agent takes of one what its model can hold. It says so.
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
