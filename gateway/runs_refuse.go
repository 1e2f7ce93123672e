package gateway

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// busyRetry is when a client may retry a message refused because the queue is full, in ms.
const busyRetry = 1_000

// busyDetails are the details of a refusal because the queue is full.
type busyDetails struct {
	Code     string `json:"code"` // busy
	Ahead    int    `json:"queueAhead"`
	WaitedMs int64  `json:"waitedMs"` // waiting time of the first one
	Hint     string `json:"hint"`
}

// runRefusalOf converts a refusal to queue or stop a run for the client.
func runRefusalOf(method string, err error) error {
	if busy, ok := errors.AsType[*run.Busy](err); ok {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: busy.Error(), Retryable: true, RetryAfter: busyRetry,
			Details: busyDetails{busy.Code(), busy.Ahead, busy.OldestMs, busy.Hint()}}
	}
	refused, ok := errors.AsType[*run.Refusal](err)
	if !ok {
		return refusalOf(err)
	}
	text, why := refused.Text, fault{Code: refused.Reason, Field: refused.Field, Value: echo(refused.Value), Hint: refused.HintText}
	switch refused.Reason {
	case run.CodeNotAllowed:
		text = "send blocked by session policy"
	case run.CodeOtherSession:
		text = "runId does not match sessionKey"
	case run.CodeInvalidAsk, run.CodeUnknownLane, run.CodeUnknownModel:
		if why.Field == "runId" {
			why.Field = "idempotencyKey" // in the client's form
		}
		text = "invalid " + method + " params: " + text
	}
	return invalidRequest(text, why)
}

// crowded refuses one more waiting run.
func crowded() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "this connection waits for too many runs", Retryable: true, RetryAfter: busyRetry,
		Details: busyDetails{Code: "busy", Ahead: maxAwaited, Hint: "wait until some have ended, or use chat.send"}}
}
