package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// wire is an account's connection to Slack, implemented with a library.
type wire interface {
	// open connects a socket, and returns when Slack has said hello and opened was called; then events are told until
	// lost is called, once. It may be called again after that. An error means that there is no socket: an *openError, or
	// the network's.
	open(ctx context.Context) error
	// ack acknowledges an envelope on the present socket. An acknowledgement that does not arrive is no error: Slack
	// sends the envelope again.
	ack(ctx context.Context, envelopeID string)
	// cut drops the socket. It may be called when not open.
	cut()
	// ask makes one request to the Web API, once. An error means that there was no answer; the answer then says whether
	// the request was sent. No error contains a token.
	ask(ctx context.Context, r request) (answer, error)
	// respond sends an answer to the address of an interaction, likewise.
	respond(ctx context.Context, to string, body any) (answer, error)
	// upload sends the content of a file to the address that Slack gave for it, which is a secret.
	upload(ctx context.Context, to string, content []byte) (answer, error)
	// file is a request for a file on Slack's own host. It contains the token.
	file(ctx context.Context, address string) (*http.Request, error)
}

// wireEvents are the callbacks of a wire. They are called one at a time and may block: further envelopes wait.
type wireEvents struct {
	opened func() // before the first envelope of a socket
	told   func(envelope)
	lost   func()
}

type wireOptions struct {
	token, appToken string
	transport       http.RoundTripper
	timeLimit       time.Duration // for opening the socket
	silence         time.Duration // silence after which a socket is considered dead
	userAgent       string
}

// request is one call of a method. Lists and objects are JSON.
type request struct {
	method string
	args   url.Values
}

type answer struct {
	sent   bool // a connection was available, so the request may have been sent
	status int
	header http.Header
	body   []byte
}

// Types of envelopes.
const (
	typeEvents      = "events_api"
	typeInteractive = "interactive"
	typeSlash       = "slash_commands"
)

// envelope is what Slack tells, whichever way it comes.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// openError is Slack's refusal of a socket.
type openError struct{ code string }

func (e *openError) Error() string { return "Slack refuses the connection with " + e.code }

// errGone means that a socket ended before Slack said hello.
var errGone = errors.New("the socket ended before Slack said hello")

const maxAnswer = 16 << 20
