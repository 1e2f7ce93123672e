package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// callError is an error response of a gateway.
type callError struct {
	reason   *protocol.Error
	refused  bool // it refused the connection
	unlisted bool // it does not offer that method
}

func (e *callError) Error() string { return e.reason.Message }
func (e *callError) Unwrap() error { return e.reason }
func (e *callError) Code() string  { return e.reason.Code }
func (e *callError) Details() any  { return e.reason.Details }

func (e *callError) Hint() string {
	switch {
	case e.reason.RetryAfter > 0:
		return fmt.Sprintf("try again in %s", time.Duration(e.reason.RetryAfter)*time.Millisecond)
	case e.reason.Retryable:
		return "try again later"
	case e.refused && e.speaksOtherwise():
		return "update openclawd, or what it talks to: they have no version of the protocol in common"
	case e.refused:
		return "openclawd token prints the token in force; --token and --password send another one, --state-dir and --url select another gateway"
	case e.unlisted:
		return "openclawd call --list lists the methods"
	}
	var details struct{ Field, Hint string }
	e.read(&details)
	if details.Field != "" && details.Hint != "" {
		return details.Field + ": " + details.Hint
	}
	return details.Hint
}

// read parses the details. Fields of unexpected shape stay empty.
func (e *callError) read(details any) {
	if text, err := json.Marshal(e.reason.Details); err == nil {
		_ = json.Unmarshal(text, details)
	}
}

// exit is the exit code of the command.
func (e *callError) exit() int {
	switch {
	case e.reason.Retryable:
		return exitAgain
	case e.refused && !e.speaksOtherwise():
		return exitConfig
	}
	return exitFailed
}

// speaksOtherwise reports whether the gateway speaks another version of the protocol.
func (e *callError) speaksOtherwise() bool {
	var details struct{ ExpectedProtocol int }
	e.read(&details)
	return details.ExpectedProtocol != 0
}

// dialError converts a connection error to a typed one.
func dialError(url string, err error) error {
	var (
		refused *client.RefusedError
		upgrade *client.UpgradeError
		closed  *client.ClosedError
		late    *lateError
	)
	switch {
	case errors.As(err, &refused):
		return &callError{reason: refused.Reason, refused: true}
	case errors.As(err, &late):
		return late
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &upgrade), errors.As(err, &closed):
		return &noGatewayError{url, err, "check what listens there; --url selects another gateway"}
	}
	return &noGatewayError{url, err, "openclawd serve starts one; --state-dir, --api or --url select one elsewhere"}
}

// noGatewayError reports that no gateway answers.
type noGatewayError struct {
	url  string
	err  error
	hint string
}

func (e *noGatewayError) Error() string {
	return fmt.Sprintf("no gateway answers at %s: %v", e.url, e.err)
}
func (e *noGatewayError) Unwrap() error { return e.err }
func (e *noGatewayError) Code() string  { return "no_gateway" }
func (e *noGatewayError) Hint() string  { return e.hint }

// lateError reports that the answer did not arrive in time.
type lateError struct{ after time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("the gateway did not answer within %s", e.after)
}
func (e *lateError) Code() string { return "timeout" }
func (e *lateError) Hint() string {
	return "use a longer --timeout; the call may still have been carried out"
}

// lostError reports that the connection was lost before the answer.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }
func (e *lostError) Code() string  { return "connection_lost" }
func (e *lostError) Hint() string {
	return "try again when the gateway is back; the call may still have been carried out"
}
