package gateway

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// busyRetry is when a client may try again for whose message there was no room, in ms.
const busyRetry = 1_000

// busyDetails say what is in the way of a message.
type busyDetails struct {
	Code     string `json:"code"` // busy
	Ahead    int    `json:"queueAhead"`
	WaitedMs int64  `json:"waitedMs"` // how long the first of them has waited
	Mend     string `json:"mend"`
}

// runRefusalOf tells a client why its message is not accepted, or a run not stopped.
func runRefusalOf(method string, err error) error {
	if busy, ok := errors.AsType[*run.Busy](err); ok {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: busy.Error(), Retryable: true, RetryAfter: busyRetry,
			Details: busyDetails{busy.Code(), busy.Ahead, busy.OldestMs, busy.Hint()}}
	}
	refused, ok := errors.AsType[*run.Refusal](err)
	if !ok {
		return refusalOf(err)
	}
	text, why := refused.Text, fault{Code: refused.Code, Field: refused.Field, Value: echo(refused.Value), Mend: refused.Mend}
	switch refused.Code {
	case run.CodeNotAllowed:
		text = "send blocked by session policy"
	case run.CodeOtherSession:
		text = "runId does not match sessionKey"
	case run.CodeInvalidAsk, run.CodeUnknownLane, run.CodeUnknownModel:
		if why.Field == "runId" {
			why.Field = "idempotencyKey" // as clients call it
		}
		text = "invalid " + method + " params: " + text
	}
	return invalidRequest(text, why)
}

// crowded refuses to wait for one more run.
func crowded() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "this connection waits for too many runs", Retryable: true, RetryAfter: busyRetry,
		Details: busyDetails{Code: "busy", Ahead: maxAwaited, Mend: "wait until some have ended, or ask with chat.send"}}
}
