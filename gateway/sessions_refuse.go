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
	return troubleOf(err)
}

// trouble is what is in the way of everybody.
type trouble struct {
	Code string `json:"code"`
	Mend string `json:"mend"`
}

// troubleOf tells a client that the store cannot do what it was asked for now. Where its files lie is not a client's business. Other errors
// stay as they are.
func troubleOf(err error) error {
	told, retry := "", int64(fullDiskRetry)
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
		told = "the database of the server was removed, replaced or cut off: nothing is stored"
	case *eventstore.IOError:
		told = "the disk of the server fails"
	case *eventstore.ForeignError:
		told = "another program has written into the log of the server: nothing is stored"
	case *eventstore.CorruptError:
		told = "the database of the server is damaged"
	default:
		return err
	}
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: told, Retryable: true, RetryAfter: retry, Details: trouble{coded.Code(), coded.Hint()}}
}
