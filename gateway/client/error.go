package client

import (
	"errors"
	"fmt"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// ClosedError is the end of a connection.
type ClosedError struct {
	Code int // of the protocol; 1006 where the other side has said none
	Text string
	Err  error // what broke; nil where one side has said goodbye
}

func (e *ClosedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the gateway is gone: %v", e.Err)
	}
	return fmt.Sprintf("the connection was closed with %d %s", e.Code, e.Text)
}

func (e *ClosedError) Unwrap() error { return e.Err }

// RefusedError is a gateway that does not let the client in.
type RefusedError struct {
	Reason *protocol.Error
	Closed *ClosedError // how it closed the connection
}

func (e *RefusedError) Error() string { return "the gateway refuses: " + e.Reason.Message }
func (e *RefusedError) Unwrap() error { return e.Reason }

// UpgradeError is an answer that makes no WebSocket: what listens is no gateway, or does not want to be asked by that name.
type UpgradeError struct {
	URL    string
	Status int
	Text   string // how its body begins
}

func (e *UpgradeError) Error() string {
	return fmt.Sprintf("%s answers with status %d instead of a WebSocket", e.URL, e.Status)
}

// closedBy words what a connection ended with.
func closedBy(err error) *ClosedError {
	var said *websocket.CloseError
	if errors.As(err, &said) {
		return &ClosedError{Code: said.Code, Text: said.Text}
	}
	return &ClosedError{Code: closeAbnormal, Text: err.Error(), Err: err}
}
