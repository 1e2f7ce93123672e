package a2a

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// said is what the fold reads of an event's data beside what coordination/a2a does. A member that is missing, or of another type, is blank;
// so are all of a redacted one.
type said struct {
	redacted bool

	jobID, kind, from, to                   string
	conversation, parent, workSession, task string
	runID, reason, outcome                  string
	payloadType, payload                    string
	posts                                   bool
}

func read(e *projections.Event) *said {
	var d said
	if d.redacted = e.Redacted(); d.redacted {
		return &d
	}
	_ = coordination.EachField(e.Data, func(name string, raw []byte) bool { // the store takes objects only
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

// maxText is how long a text may be, as JSON, that is read here: a payload of 32 KiB, each byte of which may be written as six.
const maxText = 192<<10 + 2

// is says whether the data is of the job that is called so in the name of its stream; that of a redacted event is of any.
func (d *said) is(name string) bool {
	return d.redacted || d.jobID != "" && nameOf(d.jobID) == name
}

// text is where a text of that name belongs, or nil.
func (d *said) text(name string) *string {
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
