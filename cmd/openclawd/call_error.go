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

// callError is what a gateway says instead of doing what it was asked for.
type callError struct {
	reason   *protocol.Error
	refused  bool // it did not let us in
	unlisted bool // it does not tell of that method
}

func (e *callError) Error() string { return e.reason.Message }
func (e *callError) Unwrap() error { return e.reason }
func (e *callError) Code() string  { return e.reason.Code }
func (e *callError) Details() any  { return e.reason.Details }

func (e *callError) Hint() string {
	switch {
	case e.reason.RetryAfter > 0:
		return fmt.Sprintf("ask again in %s", time.Duration(e.reason.RetryAfter)*time.Millisecond)
	case e.reason.Retryable:
		return "ask again later"
	case e.refused && e.speaksOtherwise():
		return "update openclawd, or what it talks to: they have no version of the protocol in common"
	case e.refused:
		return "openclawd token prints the token in force; --token and --password show another one, --state-dir and --url name another gateway"
	case e.unlisted:
		return "openclawd call --list lists the methods"
	}
	var details struct{ Field, Mend string }
	e.read(&details)
	if details.Field != "" && details.Mend != "" {
		return details.Field + ": " + details.Mend
	}
	return details.Mend
}

// read takes what it knows out of the details. What has another shape stays blank.
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

// dialError gives what connecting ends with its type.
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
		return &noGatewayError{url, err, "look at what listens there; --url names another gateway"}
	}
	return &noGatewayError{url, err, "openclawd serve starts one; --state-dir, --api or --url name one that runs elsewhere"}
}

// noGatewayError says that there is no gateway to ask.
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

// lateError says that there was no answer in time.
type lateError struct{ after time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("the gateway has not answered within %s", e.after)
}
func (e *lateError) Code() string { return "timeout" }
func (e *lateError) Hint() string {
	return "give it longer with --timeout; whether it is done all the same is not known"
}

// lostError says that the connection ended before the answer came.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }
func (e *lostError) Code() string  { return "connection_lost" }
func (e *lostError) Hint() string {
	return "ask again when the gateway is back; whether it is done all the same is not known"
}
