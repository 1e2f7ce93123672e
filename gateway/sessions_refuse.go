package gateway

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// fullDiskRetry is when a client may try again whose change found no room on the disk, in ms: an operator has to act first.
const fullDiskRetry = 30_000

// refusalOf tells a client why a change was not made: what the request had wrong, or that the store cannot take it now.
func refusalOf(err error) error {
	if refused, ok := errors.AsType[*session.Refusal](err); ok {
		return invalidRequest(refused.Text, fault{Code: refused.Code, Field: refused.Field, Value: echo(refused.Value)})
	}
	if invalid, ok := errors.AsType[*eventstore.InvalidError](err); ok {
		return invalidRequest(invalid.Error(), fault{Code: invalid.Code(), Field: invalid.Field, Value: invalid.Value, Mend: invalid.Mend})
	}
	if busy, ok := errors.AsType[*eventstore.BusyError](err); ok {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: busy.Error(), Retryable: true, RetryAfter: max(1, busy.RetryAfter.Milliseconds())}
	}
	if full, ok := errors.AsType[*eventstore.DiskFullError](err); ok {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "disk full: nothing was stored", Retryable: true, RetryAfter: fullDiskRetry,
			Details: struct {
				Code string `json:"code"`
				Mend string `json:"mend"`
			}{full.Code(), full.Hint()}}
	}
	return err
}
