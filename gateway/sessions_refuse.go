package gateway

import (
	"errors"

	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// fullDiskRetry is the retry delay after a full disk, in ms: an operator has to act first.
const fullDiskRetry = 30_000

// refusalOf converts the error of a change for the client: an invalid request, or a store that is unavailable.
func refusalOf(err error) error {
	if refused, ok := errors.AsType[*session.Refusal](err); ok {
		return invalidRequest(refused.Text, fault{Code: refused.Reason, Field: refused.Field, Value: echo(refused.Value)})
	}
	if invalid, ok := errors.AsType[*eventstore.InvalidError](err); ok {
		return invalidRequest(invalid.Error(), fault{Code: invalid.Code(), Field: invalid.Field, Value: invalid.Value, Hint: invalid.HintText})
	}
	return troubleOf(err)
}

type trouble struct {
	Code string `json:"code"`
	Hint string `json:"hint"`
}

// sharedRetry is when a write may be repeated that the shared log of a cluster did not take, in ms.
const sharedRetry = 500

// troubleOf converts a store failure for the client, without file paths. Other errors stay as they are.
func troubleOf(err error) error {
	told, retry := "", int64(fullDiskRetry)
	if refused := shared.Refusal(err); refused != nil {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: refused.Error(), Retryable: true, RetryAfter: sharedRetry, Details: trouble{refused.Code(), refused.Hint()}}
	}
	var coded eventstore.Coded
	if !errors.As(err, &coded) {
		return err
	}
	switch e := coded.(type) {
	case *eventstore.BusyError:
		told, retry = e.Error(), max(1, e.RetryAfter.Milliseconds())
	case *eventstore.DiskFullError:
		told = "disk full: nothing was stored"
	case *eventstore.LostError:
		told = "the server's database was removed, replaced or truncated: nothing is stored"
	case *eventstore.IOError:
		told = "the server's disk fails"
	case *eventstore.ForeignError:
		told = "another program has written to the server's log: nothing is stored"
	case *eventstore.CorruptError:
		told = "the server's database is damaged"
	default:
		return err
	}
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: told, Retryable: true, RetryAfter: retry, Details: trouble{coded.Code(), coded.Hint()}}
}
