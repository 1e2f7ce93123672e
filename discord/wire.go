package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/channel"
)

// wire is a bot's connection to Discord, implemented with a library.
type wire interface {
	// open connects, and resumes the session if there is one. It returns after Discord's first event, or with an
	// error: errStillOpen, a *closeError, or the network's. content says whether the message content intent is
	// requested.
	open(content bool) error
	// cut drops the socket without a close frame, also while open blocks. It may be opened again.
	cut()
	end()
	// close closes the connection so that Discord forgets the session, and ends the wire. It may be called when not
	// open or already ended.
	close()
	// ask makes one request, once. An error means that there was no answer; the answer then says whether the request
	// was sent.
	ask(ctx context.Context, r request) (answer, error)
}

// wireEvents are the callbacks of a wire. They are called one at a time by the socket's reading goroutine, and must
// not wait for the wire.
type wireEvents struct {
	told func(kind string, data json.RawMessage) // a gateway dispatch
	lost func()                                  // the socket has closed, for any reason
}

type wireOptions struct {
	token     string
	transport http.RoundTripper
	timeLimit time.Duration // for the library's own requests, and for opening the socket
	silence   time.Duration // silence after which a socket is considered dead
	userAgent string
}

type request struct {
	method string
	path   string        // below the version: /channels/1/messages
	body   any           // nil if there is none
	file   *channel.File // sent with the body as a form; nil is none
	secret bool          // the path contains a secret
}

type answer struct {
	sent   bool // a connection was available, so the request may have been sent
	status int
	header http.Header
	body   []byte
}

// errStillOpen is returned by open if the socket is open.
var errStillOpen = errors.New("the socket is still open")

type closeError struct{ code int }

func (e *closeError) Error() string {
	return fmt.Sprintf("the gateway closed the socket with %d", e.code)
}

const maxAnswer = 8 << 20
