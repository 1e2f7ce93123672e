package response

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// What the names of streams begin with.
const (
	requestStreams = "collab/"
	workStreams    = "work/"
)

// said is what an event says.
type said struct {
	coordination.A2ACollaborate        // as far as it is read here; nothing of what is redacted
	name                        string // of the request that it is about, in the name of its stream; "" for none
	own                         bool   // it lies in that stream
}

// read is what an event says of a request, or of a thread that was opened for one. ok is false if it says nothing of the kind, lies elsewhere
// than such an event does, cannot be read, or was imported.
func read(e *projections.Event) (s said, ok bool) {
	if e.Actor == eventstore.ActorImport || !isOurs(e.Type) {
		return said{}, false
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
			return said{}, false
		}
		s.opened(&t)
	} else if json.Unmarshal(e.Data, &s.A2ACollaborate) != nil {
		return said{}, false
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

// ofDelivery is read for what a delivery has in the stream of its work: the thread that it has opened, and that nobody knows whether the request
// stands there.
func ofDelivery(e *projections.Event) (s said, ok bool) {
	if !strings.HasPrefix(e.Stream, workStreams) || e.Redacted() {
		return said{}, false
	}
	effect := ""
	switch e.Type {
	case coordination.TypeThreadCreated:
		var t coordination.Thread
		if json.Unmarshal(e.Data, &t) != nil || t.ReportOf != "" {
			return said{}, false
		}
		effect = t.EffectID
		s.opened(&t)
	case coordination.TypeDiscordDeliveryUnknown:
		var d coordination.DiscordOutbound
		if json.Unmarshal(e.Data, &d) != nil || d.Purpose != delivery.Request {
			return said{}, false
		}
		effect, s.CollabID, s.Forgets, s.ErrorMessage = d.EffectID, d.CollabID, d.Forgets, d.Error
	default:
		return said{}, false
	}
	if s.CollabID != "" {
		s.name = nameOf(s.CollabID)
	}
	return s, effect == "" || coordination.WorkStream(effect) == e.Stream
}

func (s *said) opened(t *coordination.Thread) {
	s.CollabID, s.ReuseKey, s.ThreadID, s.ThreadName, s.GuildID = t.CollabID, t.ReuseKey, t.ThreadID, t.Name, t.GuildID
}

// keys are what the threads are kept under that it may be about.
func (s *said) keys() []string {
	return slices.DeleteFunc(slices.Compact([]string{s.ReuseKey, s.Forgets}), func(key string) bool { return key == "" })
}

// nameOf is what a request is called by in the name of its stream.
func nameOf(collabID string) string {
	return strings.TrimPrefix(coordination.CollabStream(collabID), requestStreams)
}

// left is what a redacted event of a request still says: what has happened to it, and not how.
func (x *row) left(typ string, ts int64) []byte {
	switch typ {
	case coordination.TypeA2ACollaborateRequested:
		return object(collaborate.Requested{RequestID: x.ID, Key: x.Key})
	case coordination.TypeA2ACollaborateSent:
		return object(collaborate.Sent{RequestID: x.ID, ThreadID: x.earlier.ThreadID, ThreadName: x.earlier.ThreadName, ChannelID: x.earlier.ChannelID})
	case coordination.TypeA2ACollaborateFailed, coordination.TypeDiscordDeliveryUnknown:
		return object(collaborate.Failed{RequestID: x.ID})
	case coordination.TypeA2ACollaborateResponded:
		return object(decide.Responded{RequestID: x.ID, MessageID: unknownMessage, RespondedAt: ts})
	case coordination.TypeCollabReminded:
		return object(decide.Told{RequestID: x.ID, Step: x.Step + 1})
	case coordination.TypeCollabEscalated:
		return object(decide.Told{RequestID: x.ID, Step: x.Step, Quiet: true})
	}
	return nil
}

// unknownMessage stands for the message that has answered a request where the event that says it is redacted: no message has this id.
const unknownMessage = "redacted"

func object(v any) []byte {
	data, _ := json.Marshal(v) // texts and numbers can always be written
	return data
}
