// Package session decides what may happen to a session: what may be set for it, and which events that makes. It is pure: it knows neither
// clock nor tables, new ids are passed in.
package session

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
)

// State is what a decision has to know of a session. Of one that does not exist it holds Key and Version alone.
type State struct {
	Key      coordination.SessionKey
	ID       string // of its transcript
	Label    string
	Settings Settings

	UpdatedAt int64 // ms since 1970, of the newest change or message
	Messages  int64 // in its transcript
	Version   int64 // of its stream
}

// Exists says whether there is such a session.
func (s *State) Exists() bool { return s.ID != "" }

// Settings are what is set for a session, by the names of sessions.patch; the label is apart. A setting that is absent has no value.
type Settings map[string]json.RawMessage

// Text is a setting that is a text, or "".
func (s Settings) Text(name string) string {
	text, _ := coordination.StringValue(s[name])
	return text
}

// Event is what a decision makes happen: a type of the catalogue and its data.
type Event struct {
	Type string
	Data any
}

// Refusal says why something is not done to a session. Text is what clients of the gateway show, in the original's words.
type Refusal struct {
	Code  string // one of those below
	Field string
	Value string
	Text  string
}

func (r *Refusal) Error() string { return r.Text }

// Codes of refusals.
const (
	CodeInvalidSetting = "invalid_setting" // a value that the setting cannot have
	CodeFixedSetting   = "fixed_setting"   // it was set once, and stays
	CodeInvalidLabel   = "invalid_label"
	CodeLabelInUse     = "label_in_use" // by another session
	CodeInvalidReason  = "invalid_reason"
	CodeInvalidMessage = "invalid_message"
	CodeMainSession    = "main_session" // the one that is meant where none is named is not deleted
	CodeNoSession      = "no_session"
)

// Command is what all commands say.
type Command struct {
	By    string // the client that asks, or ""
	NewID string // a name that no transcript ever had, for the one that begins if one does
}

// context is what all events say.
func context() coordination.Context {
	return coordination.Context{EventRole: coordination.RoleObservability}
}

// create makes the session exist.
func (s *State) create(c *Command) Event {
	return Event{coordination.TypeSessionCreated, coordination.Session{
		Context: context(), SessionKey: s.Key.String(), SessionID: c.NewID, By: c.By,
	}}
}

// ResetCommand lets a session start over with a new transcript.
type ResetCommand struct {
	Command
	Reason string // new, reset; "" is reset
}

// Reset decides a ResetCommand. A session that does not exist begins.
func Reset(s State, c ResetCommand) ([]Event, error) {
	switch c.Reason {
	case "":
		c.Reason = "reset"
	case "new", "reset":
	default:
		return nil, &Refusal{CodeInvalidReason, "reason", c.Reason, `invalid reason (use "new"|"reset")`}
	}
	if !s.Exists() {
		return []Event{s.create(&c.Command)}, nil
	}
	return []Event{{coordination.TypeSessionReset, coordination.Session{
		Context: context(), SessionKey: s.Key.String(), SessionID: c.NewID, PreviousSessionID: s.ID, Reason: c.Reason, By: c.By,
	}}}, nil
}

// DeleteCommand takes a session away.
type DeleteCommand struct {
	Command
	Main           coordination.SessionKey // the session that is meant where none is named
	KeepTranscript bool                    // it is listed as an old one
}

// Delete decides a DeleteCommand. What does not exist needs no event.
func Delete(s State, c DeleteCommand) ([]Event, error) {
	key := s.Key.String()
	switch {
	case key == c.Main.String():
		return nil, &Refusal{CodeMainSession, "key", key, "Cannot delete the main session (" + key + ")."}
	case !s.Exists():
		return nil, nil
	}
	return []Event{{coordination.TypeSessionDeleted, coordination.Session{
		Context: context(), SessionKey: key, SessionID: s.ID, By: c.By, TranscriptKept: c.KeepTranscript,
	}}}, nil
}

// SayCommand puts a message into a transcript.
type SayCommand struct {
	Command
	Message  coordination.SessionMessage // without session key; SessionID "" is the present transcript
	Existing bool                        // only if the session exists
}

// Say decides a SayCommand. A session that does not exist begins, unless the command wants one that does.
func Say(s State, c SayCommand) ([]Event, error) {
	m := c.Message
	switch m.Author {
	case "user", "assistant", "tool", "system":
	default:
		return nil, &Refusal{CodeInvalidMessage, "author", m.Author, `invalid author (use "user"|"assistant"|"tool"|"system")`}
	}
	var events []Event
	if !s.Exists() {
		if c.Existing {
			return nil, &Refusal{CodeNoSession, "key", s.Key.String(), "session not found"}
		}
		events = append(events, s.create(&c.Command))
		s.ID = c.NewID
	}
	m.EventRole, m.SessionKey = coordination.RoleObservability, s.Key.String()
	if m.SessionID == "" {
		m.SessionID = s.ID
	}
	return append(events, Event{coordination.TypeSessionMessage, m}), nil
}
