package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// wire is the connection of one bot to Discord, as a library carries it.
type wire interface {
	// open connects, and resumes the session if there is one. It returns when Discord has answered with its first event, or an error:
	// errStillOpen, a *closeError, or what the network says. content says whether the content of all messages is asked for.
	open(content bool) error
	// cut ends the socket without a word, also while open waits for Discord. It may be opened again.
	cut()
	// end is cut for good.
	end()
	// close says goodbye to Discord, which forgets the session, and ends the wire. One that is not open, or has ended, may be closed.
	close()
	// ask makes one request, once. There is an error if there was no answer; the answer says then whether the request has left.
	ask(ctx context.Context, r request) (answer, error)
}

// wireEvents are what a wire tells. They are called one at a time, by the goroutine that reads the socket, and must not wait for the wire.
type wireEvents struct {
	told func(kind string, data json.RawMessage) // a dispatch of the gateway
	lost func()                                  // the socket has ended, for whatever reason
}

// wireOptions are what every wire needs.
type wireOptions struct {
	token     string
	transport http.RoundTripper
	timeLimit time.Duration // of requests that the library makes by itself, and of the socket's beginning
	silence   time.Duration // after which a socket from which nothing comes counts as dead
	userAgent string
}

// request of Discord's API.
type request struct {
	method string
	path   string // below the version: /channels/1/messages
	body   any    // nil if there is none
	secret bool   // the path holds one
}

// answer of Discord's API.
type answer struct {
	sent   bool // the request had a connection to leave on
	status int
	header http.Header
	body   []byte
}

// errStillOpen is the error of opening what is open.
var errStillOpen = errors.New("the socket is still open")

// closeError is the code with which Discord has closed a socket.
type closeError struct{ code int }

func (e *closeError) Error() string {
	return fmt.Sprintf("the gateway closed the socket with %d", e.code)
}

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 8 << 20
