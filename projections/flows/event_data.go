package flows

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// eventData is what the fold reads of an event's data in addition to coordination/a2a. A missing member or one of another
// type is blank; so are all members of a redacted event.
type eventData struct {
	redacted bool

	jobID, kind, from, to                   string
	conversation, parent, workSession, task string
	runID, reason, outcome                  string
	payloadType, payload                    string
	posts                                   bool
}

func read(e *projections.Event) *eventData {
	var d eventData
	if d.redacted = e.Redacted(); d.redacted {
		return &d
	}
	_ = coordination.EachField(e.Data, func(name string, raw []byte) bool { // the store accepts only objects
		if name == "post" {
			d.posts = len(raw) > len(`""`) && raw[0] == '"'
		} else if text := d.text(name); text != nil && len(raw) <= maxText {
			if json.Unmarshal(raw, text) != nil {
				*text = ""
			}
		}
		return true
	})
	return &d
}

// maxText bounds the texts read here, as JSON: a payload of 32 KiB, each byte of which may be written as six.
const maxText = 192<<10 + 2

// is reports whether the data belongs to the job of that name in its stream's name; data of a redacted event belongs
// to any.
func (d *eventData) is(name string) bool {
	return d.redacted || d.jobID != "" && nameOf(d.jobID) == name
}

// text returns the destination for a text of that name, or nil.
func (d *eventData) text(name string) *string {
	switch name {
	case "jobId":
		return &d.jobID
	case "kind":
		return &d.kind
	case "fromAgent":
		return &d.from
	case "toAgent":
		return &d.to
	case "conversationId":
		return &d.conversation
	case "parentConversationId":
		return &d.parent
	case "workSessionId":
		return &d.workSession
	case "taskId":
		return &d.task
	case "runId":
		return &d.runID
	case "reason":
		return &d.reason
	case "outcome":
		return &d.outcome
	case "payloadType":
		return &d.payloadType
	case "payloadJson":
		return &d.payload
	}
	return nil
}
