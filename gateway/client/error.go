package client

import (
	"errors"
	"fmt"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// ClosedError is the end of a connection.
type ClosedError struct {
	Code int // close code; 1006 if the other side sent none
	Text string
	Err  error // the underlying error; nil after a regular close
}

func (e *ClosedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the gateway is gone: %v", e.Err)
	}
	return fmt.Sprintf("the connection was closed with %d %s", e.Code, e.Text)
}

func (e *ClosedError) Unwrap() error { return e.Err }

// RefusedError means that the gateway rejected the client.
type RefusedError struct {
	Reason *protocol.Error
	Closed *ClosedError // how the gateway closed the connection
}

func (e *RefusedError) Error() string { return "the gateway refuses: " + e.Reason.Message }
func (e *RefusedError) Unwrap() error { return e.Reason }

// UpgradeError is an HTTP answer that is no WebSocket upgrade: the listener is no gateway, or rejects this host name.
type UpgradeError struct {
	URL    string
	Status int
	Text   string // start of its body
}

func (e *UpgradeError) Error() string {
	return fmt.Sprintf("%s answers with status %d instead of a WebSocket", e.URL, e.Status)
}

// closedBy converts the error that ended a connection.
func closedBy(err error) *ClosedError {
	var said *websocket.CloseError
	if errors.As(err, &said) {
		return &ClosedError{Code: said.Code, Text: said.Text}
	}
	return &ClosedError{Code: closeAbnormal, Text: err.Error(), Err: err}
}
