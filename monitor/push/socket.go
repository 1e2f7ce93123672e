package push

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// wire is a frame in the protocol's own bytes, which are the same for every client.
type wire = *websocket.PreparedMessage

func newWire(text []byte) (wire, error) {
	return websocket.NewPreparedMessage(websocket.TextMessage, text)
}

// Asked reports whether a request asks to become a WebSocket.
func Asked(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// HandshakeError is a request that does not keep to the protocol. Nothing has been answered yet.
type HandshakeError struct {
	Status int
	Reason error
}

func (e *HandshakeError) Error() string { return e.Reason.Error() }
func (e *HandshakeError) Unwrap() error { return e.Reason }

// farewell says why a connection is closed.
type farewell string

const (
	tooSlow   farewell = "slow"
	restarted farewell = "restart"
	failed    farewell = "failed"
)

// message is the payload of the close frame: a status of the protocol, and in at most 123 bytes where to go on.
func (f farewell) message(seq int64) []byte {
	status := websocket.CloseInternalServerErr
	switch f {
	case tooSlow:
		status = websocket.CloseTryAgainLater
	case restarted:
		status = websocket.CloseServiceRestart
	}
	return websocket.FormatCloseMessage(status, fmt.Sprintf(`{"code":%q,"seq":%d,"hint":"connect again with ?since=%d"}`, f, seq, seq))
}

// socket is one connection. One goroutine listens, another one does the rest; close may be called by anybody.
type socket struct {
	conn *websocket.Conn
	opts *Options
}

// upgrade makes a connection of a request. Compression is off: it costs more than loopback saves. Who may connect has been decided.
func upgrade(w http.ResponseWriter, r *http.Request, opts *Options) (*socket, error) {
	var refused *HandshakeError
	upgrader := websocket.Upgrader{
		HandshakeTimeout: opts.WriteTime,
		CheckOrigin:      func(*http.Request) bool { return true },
		Error: func(_ http.ResponseWriter, _ *http.Request, status int, reason error) {
			refused = &HandshakeError{status, reason}
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	return &socket{conn, opts}, nil
}

// listen reads and forgets what the client says until it hangs up, says too much at once, or leaves a ping unanswered.
func (s *socket) listen() {
	alive := func(string) error { return s.conn.SetReadDeadline(time.Now().Add(s.opts.PongWait)) }
	s.conn.SetReadLimit(maxMessageBytes)
	s.conn.SetPongHandler(alive)
	err := alive("")
	for err == nil {
		var message io.Reader
		if _, message, err = s.conn.NextReader(); err == nil {
			_, err = io.Copy(io.Discard, message)
		}
	}
	s.opts.Logger.Debug("client has ended", "client", s.name(), "err", err)
}

func (s *socket) write(f *frame) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.opts.writeTime(f.size))); err != nil {
		return err
	}
	return s.conn.WritePreparedMessage(f.wire)
}

func (s *socket) ping() error {
	return s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.opts.WriteTime))
}

// bid says goodbye; the client is expected to answer.
func (s *socket) bid(f farewell, seq int64) error {
	return s.conn.WriteControl(websocket.CloseMessage, f.message(seq), time.Now().Add(s.opts.CloseTime))
}

// hangUp ends a connection to which nobody listens any more. What the client has not read yet would be lost if something that it has sent
// were still unread, so that is read first.
func (s *socket) hangUp() error {
	conn := s.conn.NetConn()
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		if conn.SetReadDeadline(time.Now().Add(s.opts.CloseTime)) == nil {
			_, _ = io.CopyN(io.Discard, conn, 1<<20)
		}
	}
	return s.close()
}

func (s *socket) close() error { return s.conn.Close() }

// name is the client's address, for people.
func (s *socket) name() string { return s.conn.RemoteAddr().String() }
