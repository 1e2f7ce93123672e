package run

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections"
)

// said is what the fold reads of an event's data. A member that is missing, or of another type, is blank; so are all of a redacted one.
type said struct {
	redacted bool

	runID, sessionKey, sessionID, lane, cause, retryOf string
	job, workSession, conversation, parentRun          string
	root, passedBy, from, to                           string
	provider, model, stopReason, reason, errorClass    string
	startedAt, endedAt                                 int64
	inputTokens, outputTokens, totalTokens             int64
	modelCalls, toolCalls                              int64
}

func read(e *projections.Event) *said {
	var d said
	if d.redacted = e.Redacted(); d.redacted {
		return &d
	}
	_ = coordination.EachField(e.Data, func(name string, raw []byte) bool { // the store takes objects only
		if name == "usage" {
			_ = coordination.EachField(raw, func(name string, raw []byte) bool { // something else is no usage
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

// is says whether the data is of the run that is called so in the name of its stream; that of a redacted event is of any.
func (d *said) is(name string) bool {
	return d.redacted || decide.IsID(d.runID) && nameOf(d.runID) == name
}

// maxText is how long a text may be, as JSON, that is kept in a row.
const maxText = 8 << 10

// maxCount is the largest number that is believed; JSON numbers are exact up to there.
const maxCount = 1 << 53

func count(raw []byte) int64 {
	n, _ := coordination.NumberValue(raw)
	return int64(min(max(n, 0), maxCount))
}

// text is where a text of that name belongs, or nil.
func (d *said) text(name string) *string {
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

// number is where a number of that name belongs, or nil.
func (d *said) number(name string) *int64 {
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

// tokens is likewise within the usage.
func (d *said) tokens(name string) *int64 {
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
