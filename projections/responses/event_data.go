package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Prefixes of stream names.
const (
	requestStreams = "collab/"
	workStreams    = "work/"
)

// eventData is a parsed event.
type eventData struct {
	coordination.A2ACollaborate        // the fields used here; empty if redacted
	name                        string // name of its request in the stream's name; "" if none
	own                         bool   // it is in that stream
}

// read parses an event about a request, or about a thread opened for one. ok is false if it is about neither, is in
// the wrong stream, cannot be read, or was imported.
func read(e *projections.Event) (s eventData, ok bool) {
	if e.Actor == eventstore.ActorImport || !isOurs(e.Type) {
		return eventData{}, false
	}
	if s.name, s.own = strings.CutPrefix(e.Stream, requestStreams); !s.own {
		return ofDelivery(e)
	}
	if e.Redacted() {
		return s, true
	}
	if e.Type == coordination.TypeThreadCreated {
		var t coordination.Thread
		if json.Unmarshal(e.Data, &t) != nil {
			return eventData{}, false
		}
		s.opened(&t)
	} else if json.Unmarshal(e.Data, &s.A2ACollaborate) != nil {
		return eventData{}, false
	}
	return s, nameOf(s.CollabID) == s.name
}

func isOurs(typ string) bool {
	switch typ {
	case coordination.TypeA2ACollaborateRequested, coordination.TypeA2ACollaborateSent, coordination.TypeA2ACollaborateFailed,
		coordination.TypeA2ACollaborateResponded, coordination.TypeCollabReminded, coordination.TypeCollabEscalated, coordination.TypeThreadCreated,
		coordination.TypeDiscordDeliveryUnknown:
		return true
	}
	return false
}

// ofDelivery is read for the events of a delivery in its work's stream: the thread that it has opened, and that the
// fate of its message is unknown.
func ofDelivery(e *projections.Event) (s eventData, ok bool) {
	if !strings.HasPrefix(e.Stream, workStreams) || e.Redacted() {
		return eventData{}, false
	}
	effect := ""
	switch e.Type {
	case coordination.TypeThreadCreated:
		var t coordination.Thread
		if json.Unmarshal(e.Data, &t) != nil || t.ReportOf != "" {
			return eventData{}, false
		}
		effect = t.EffectID
		s.opened(&t)
	case coordination.TypeDiscordDeliveryUnknown:
		var d coordination.DiscordOutbound
		if json.Unmarshal(e.Data, &d) != nil || d.Purpose != delivery.Request {
			return eventData{}, false
		}
		effect, s.CollabID, s.Forgets, s.ErrorMessage = d.EffectID, d.CollabID, d.Forgets, d.Error
	default:
		return eventData{}, false
	}
	if s.CollabID != "" {
		s.name = nameOf(s.CollabID)
	}
	return s, effect == "" || coordination.WorkStream(effect) == e.Stream
}

func (s *eventData) opened(t *coordination.Thread) {
	s.CollabID, s.ReuseKey, s.ThreadID, s.ThreadName, s.GuildID = t.CollabID, t.ReuseKey, t.ThreadID, t.Name, t.GuildID
}

// keys are the reuse keys of the threads that it may concern.
func (s *eventData) keys() []string {
	return slices.DeleteFunc(slices.Compact([]string{s.ReuseKey, s.Forgets}), func(key string) bool { return key == "" })
}

// nameOf returns the name of a request in its stream's name.
func nameOf(collabID string) string {
	return strings.TrimPrefix(coordination.CollabStream(collabID), requestStreams)
}

// left returns what a redacted event of a request still says: what happened, without details.
func (x *row) left(typ string, ts int64) []byte {
	switch typ {
	case coordination.TypeA2ACollaborateRequested:
		return object(collaborate.Requested{RequestID: x.ID, Key: x.Key})
	case coordination.TypeA2ACollaborateSent:
		return object(collaborate.Sent{RequestID: x.ID, ThreadID: x.earlier.ThreadID, ThreadName: x.earlier.ThreadName, ChannelID: x.earlier.ChannelID})
	case coordination.TypeA2ACollaborateFailed, coordination.TypeDiscordDeliveryUnknown:
		return object(collaborate.Failed{RequestID: x.ID})
	case coordination.TypeA2ACollaborateResponded:
		return object(response.Responded{RequestID: x.ID, MessageID: unknownMessage, RespondedAt: ts})
	case coordination.TypeCollabReminded:
		return object(response.Notified{RequestID: x.ID, Step: x.Step + 1})
	case coordination.TypeCollabEscalated:
		return object(response.Notified{RequestID: x.ID, Step: x.Step, Quiet: true})
	}
	return nil
}

// unknownMessage stands for the message that answered a request if the event that names it is redacted: no message has
// this id.
const unknownMessage = "redacted"

func object(v any) []byte {
	data, _ := json.Marshal(v) // texts and numbers always marshal
	return data
}
