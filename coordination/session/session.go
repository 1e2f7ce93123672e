// Package session decides about sessions: which settings they accept, and the events of each change. It is pure: time, tables and new
// ids are passed in.
package session

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
)

// State is the input of a decision. A session that does not exist has only Key and Version.
type State struct {
	Key      coordination.SessionKey
	ID       string // of the transcript
	Label    string
	Settings Settings

	UpdatedAt int64 // last change or message, ms since 1970
	Messages  int64 // of the transcript
	Version   int64 // of the stream
}

// Exists reports whether the session exists.
func (s *State) Exists() bool { return s.ID != "" }

// Settings are the settings of a session by sessions.patch name, except the label. Unset ones are absent.
type Settings map[string]json.RawMessage

// Text returns a string setting, or "".
func (s Settings) Text(name string) string {
	text, _ := coordination.StringValue(s[name])
	return text
}

// Event is an event to append: a catalogue type and its data.
type Event struct {
	Type string
	Data any
}

// Refusal says why a command was refused. Text is shown to gateway clients, in the original's words.
type Refusal = coordination.Refusal[Details]

// Details distinguishes the refusals of this package.
type Details struct{}

const (
	CodeInvalidSetting = "invalid_setting" // not a valid value of the setting
	CodeFixedSetting   = "fixed_setting"   // it is already set for good
	CodeInvalidLabel   = "invalid_label"
	CodeLabelInUse     = "label_in_use" // by another session
	CodeInvalidReason  = "invalid_reason"
	CodeInvalidMessage = "invalid_message"
	CodeMainSession    = "main_session" // the main session cannot be deleted
	CodeNoSession      = "no_session"
)

// Command is the common part of all commands.
type Command struct {
	By    string // the requesting client, or ""
	NewID string // unused id for a new transcript
}

func context() coordination.Context {
	return coordination.Context{EventRole: coordination.RoleObservability}
}

// create returns the event that creates the session.
func (s *State) create(c *Command) Event {
	return Event{coordination.TypeSessionCreated, coordination.Session{
		Context: context(), SessionKey: s.Key.String(), SessionID: c.NewID, By: c.By,
	}}
}

// ResetCommand starts a new transcript.
type ResetCommand struct {
	Command
	Reason string // new, reset; "" is reset
}

// Reset decides a ResetCommand. It creates a missing session.
func Reset(s State, c ResetCommand) ([]Event, error) {
	switch c.Reason {
	case "":
		c.Reason = "reset"
	case "new", "reset":
	default:
		return nil, &Refusal{Reason: CodeInvalidReason, Field: "reason", Value: c.Reason, Text: `invalid reason (use "new"|"reset")`}
	}
	if !s.Exists() {
		return []Event{s.create(&c.Command)}, nil
	}
	return []Event{{coordination.TypeSessionReset, coordination.Session{
		Context: context(), SessionKey: s.Key.String(), SessionID: c.NewID, PreviousSessionID: s.ID, Reason: c.Reason, By: c.By,
	}}}, nil
}

// DeleteCommand deletes a session.
type DeleteCommand struct {
	Command
	Main           coordination.SessionKey // the default session
	KeepTranscript bool                    // keep it in the list of old sessions
}

// Delete decides a DeleteCommand. A missing session needs no event.
func Delete(s State, c DeleteCommand) ([]Event, error) {
	key := s.Key.String()
	switch {
	case key == c.Main.String():
		return nil, &Refusal{Reason: CodeMainSession, Field: "key", Value: key, Text: "Cannot delete the main session (" + key + ")."}
	case !s.Exists():
		return nil, nil
	}
	return []Event{{coordination.TypeSessionDeleted, coordination.Session{
		Context: context(), SessionKey: key, SessionID: s.ID, By: c.By, TranscriptKept: c.KeepTranscript,
	}}}, nil
}

// SayCommand adds a message to a transcript.
type SayCommand struct {
	Command
	Message  coordination.SessionMessage // without session key; SessionID "" is the current transcript
	Existing bool                        // fail if the session does not exist
}

// Say decides a SayCommand. It creates a missing session, unless c.Existing is set.
func Say(s State, c SayCommand) ([]Event, error) {
	m := c.Message
	switch m.Author {
	case "user", "assistant", "tool", "system":
	default:
		return nil, &Refusal{Reason: CodeInvalidMessage, Field: "author", Value: m.Author, Text: `invalid author (use "user"|"assistant"|"tool"|"system")`}
	}
	var events []Event
	if !s.Exists() {
		if c.Existing {
			return nil, &Refusal{Reason: CodeNoSession, Field: "key", Value: s.Key.String(), Text: "session not found"}
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
