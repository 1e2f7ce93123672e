package runs

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections"
)

// eventData is what the fold reads of an event's data. A missing member or one of another type is blank; so are all members
// of a redacted event.
type eventData struct {
	redacted bool

	runID, sessionKey, sessionID, lane, cause, retryOf string
	job, workSession, conversation, parentRun          string
	root, passedBy, from, to                           string
	provider, model, stopReason, reason, errorClass    string
	startedAt, endedAt                                 int64
	inputTokens, outputTokens, totalTokens             int64
	modelCalls, toolCalls                              int64
}

func read(e *projections.Event) *eventData {
	var d eventData
	if d.redacted = e.Redacted(); d.redacted {
		return &d
	}
	_ = coordination.EachField(e.Data, func(name string, raw []byte) bool { // the store accepts only objects
		if name == "usage" {
			_ = coordination.EachField(raw, func(name string, raw []byte) bool { // any other type is not a usage
				if n := d.tokens(name); n != nil {
					*n = count(raw)
				}
				return true
			})
		} else if n := d.number(name); n != nil {
			*n = count(raw)
		} else if text := d.text(name); text != nil && len(raw) <= maxText {
			if json.Unmarshal(raw, text) != nil {
				*text = ""
			}
		}
		return true
	})
	return &d
}

// is reports whether the data belongs to the run of that name in its stream's name; data of a redacted event belongs
// to any.
func (d *eventData) is(name string) bool {
	return d.redacted || run.IsID(d.runID) && nameOf(d.runID) == name
}

// maxText bounds the texts kept in a row, as JSON.
const maxText = 8 << 10

// maxCount is the largest number that is accepted; JSON numbers are exact up to there.
const maxCount = 1 << 53

func count(raw []byte) int64 {
	n, _ := coordination.NumberValue(raw)
	return int64(min(max(n, 0), maxCount))
}

// text returns the destination for a text of that name, or nil.
func (d *eventData) text(name string) *string {
	switch name {
	case "runId":
		return &d.runID
	case "sessionKey":
		return &d.sessionKey
	case "sessionId":
		return &d.sessionID
	case "lane":
		return &d.lane
	case "cause":
		return &d.cause
	case "retryOf":
		return &d.retryOf
	case "jobId":
		return &d.job
	case "workSessionId":
		return &d.workSession
	case "conversationId":
		return &d.conversation
	case "parentRunId":
		return &d.parentRun
	case "rootRunId":
		return &d.root
	case "passedBy":
		return &d.passedBy
	case "fromAgent":
		return &d.from
	case "toAgent":
		return &d.to
	case "provider":
		return &d.provider
	case "model":
		return &d.model
	case "stopReason":
		return &d.stopReason
	case "reason":
		return &d.reason
	case "errorClass":
		return &d.errorClass
	}
	return nil
}

// number returns the destination for a number of that name, or nil.
func (d *eventData) number(name string) *int64 {
	switch name {
	case "startedAtMs":
		return &d.startedAt
	case "endedAtMs":
		return &d.endedAt
	case "modelCalls":
		return &d.modelCalls
	case "toolCalls":
		return &d.toolCalls
	}
	return nil
}

// tokens does the same within the usage.
func (d *eventData) tokens(name string) *int64 {
	switch name {
	case "input":
		return &d.inputTokens
	case "output":
		return &d.outputTokens
	case "total":
		return &d.totalTokens
	}
	return nil
}
