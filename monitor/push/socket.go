package push

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// wire is a frame in wire format, shared by all clients.
type wire = *websocket.PreparedMessage

func newWire(text []byte) (wire, error) {
	return websocket.NewPreparedMessage(websocket.TextMessage, text)
}

// Asked reports whether a request asks for a WebSocket.
func Asked(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// HandshakeError is an invalid upgrade request. No response has been sent yet.
type HandshakeError struct {
	Status int
	Reason error
}

func (e *HandshakeError) Error() string { return e.Reason.Error() }
func (e *HandshakeError) Unwrap() error { return e.Reason }

type closeReason string

const (
	tooSlow   closeReason = "slow"
	restarted closeReason = "restart"
	failed    closeReason = "failed"
)

// message encodes the close frame's payload: a status, and at most 123 bytes saying where to continue.
func (f closeReason) message(seq int64) []byte {
	status := websocket.CloseInternalServerErr
	switch f {
	case tooSlow:
		status = websocket.CloseTryAgainLater
	case restarted:
		status = websocket.CloseServiceRestart
	}
	return websocket.FormatCloseMessage(status, fmt.Sprintf(`{"code":%q,"seq":%d,"hint":"connect again with ?since=%d"}`, f, seq, seq))
}

// socket is one connection. One goroutine reads, another does everything else; close may be called concurrently.
type socket struct {
	conn *websocket.Conn
	opts *Options
}

// upgrade turns a request into a WebSocket. Compression is off: it costs more than it saves on loopback. Authorization
// happens before.
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

// listen discards input until the client closes, sends too much at once, or leaves a ping unanswered.
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
	s.opts.Logger.Debug("client connection ended", "client", s.name(), "err", err)
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

// bid sends a close frame; the client should answer.
func (s *socket) bid(f closeReason, seq int64) error {
	return s.conn.WriteControl(websocket.CloseMessage, f.message(seq), time.Now().Add(s.opts.CloseTime))
}

// hangUp ends a connection. It first drains what the client has sent: unread data would reset the connection, and the
// client would lose what it has not read yet.
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

func (s *socket) name() string { return s.conn.RemoteAddr().String() }
