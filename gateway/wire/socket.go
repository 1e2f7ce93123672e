package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Buffer sizes of a connection. Write buffers are pooled: only connections being written to hold one.
const (
	readBuffer  = 1 << 10
	writeBuffer = 4 << 10
	batchBuffer = 32 << 10
)

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// upgradeError is an invalid upgrade request. No response has been sent yet.
type upgradeError struct {
	status int
	reason error
}

func (e *upgradeError) Error() string { return e.reason.Error() }
func (e *upgradeError) Unwrap() error { return e.reason }

type closeFrame struct {
	code   int
	reason string // truncated to maxReason bytes
}

// Close codes.
const (
	codeInvalidText = websocket.CloseInvalidFramePayloadData
	codeNormal      = protocol.CloseSilent
	codeProtocol    = protocol.CloseMismatch
	codePolicy      = protocol.ClosePolicy
	codeTooBig      = protocol.CloseTooBig
	codeInternal    = protocol.CloseInternal
	codeRestart     = protocol.CloseRestart
)

// buffers are shared by all connections.
type buffers struct{ frames, batches sync.Pool }

func newBuffers() *buffers {
	return &buffers{batches: sync.Pool{New: func() any { return new([batchBuffer]byte) }}}
}

// socket is one connection. One goroutine reads, one at a time writes; cut may be called concurrently.
type socket struct {
	conn *websocket.Conn
	out  *batch
	opts *Options
}

// upgrade turns a request into a WebSocket. Compression is off: it costs more than it saves on loopback. Authorization
// happens before.
func upgrade(w http.ResponseWriter, r *http.Request, b *buffers, opts *Options) (*socket, error) {
	var wrong *upgradeError
	upgrader := websocket.Upgrader{
		HandshakeTimeout: opts.WriteTime,
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  writeBuffer,
		WriteBufferPool:  &b.frames,
		CheckOrigin:      func(*http.Request) bool { return true },
		Error: func(_ http.ResponseWriter, _ *http.Request, status int, reason error) {
			wrong = &upgradeError{status, reason}
		},
	}
	h := &hijacker{ResponseWriter: w, buffers: b, opts: opts}
	conn, err := upgrader.Upgrade(h, r, nil)
	if wrong != nil {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	conn.SetCloseHandler(func(int, string) error { return nil })
	return &socket{conn, h.out, opts}, nil
}

type hijacker struct {
	http.ResponseWriter
	buffers *buffers
	opts    *Options
	out     *batch
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.out = &batch{Conn: conn, pool: &h.buffers.batches, opts: h.opts}
	return h.out, buffered, nil
}

// Errors of read. Any other means that the connection is broken.
var (
	errTooBig   = errors.New("frame too large")
	errNotText  = errors.New("invalid UTF-8 in a text frame")
	errSilent   = errors.New("read timeout")
	errProtocol = errors.New("invalid WebSocket frame")
)

// errStuck is the error of write after a timeout.
var errStuck = errors.New("write timeout: the client does not read")

type leftError closeFrame

func (e *leftError) Error() string { return "closed by the client" }

func (s *socket) limit(bytes int64) { s.conn.SetReadLimit(bytes) }

// readUntil makes read fail with errSilent at a time; the zero time means never.
func (s *socket) readUntil(t time.Time) { _ = s.conn.SetReadDeadline(t) }

// setHandlers sets the callbacks for pings, and for pongs with their payload.
func (s *socket) setHandlers(ping func(), pong func(text string)) {
	s.conn.SetPongHandler(func(text string) error {
		pong(text)
		return nil
	})
	answer := s.conn.PingHandler()
	s.conn.SetPingHandler(func(text string) error {
		ping()
		return answer(text)
	})
}

// read returns the next message, assembled from fragments. A binary one may hold any bytes.
func (s *socket) read() ([]byte, error) {
	kind, text, err := s.conn.ReadMessage()
	var left *websocket.CloseError
	var broken net.Error
	switch {
	case err == nil && kind == websocket.TextMessage && !utf8.Valid(text):
		return nil, errNotText
	case err == nil:
		return text, nil
	case errors.Is(err, websocket.ErrReadLimit):
		return nil, errTooBig
	case errors.As(err, &left) && left.Code == websocket.CloseAbnormalClosure: // the connection ended without a close frame
		return nil, io.ErrUnexpectedEOF
	case errors.As(err, &left):
		return nil, &leftError{left.Code, left.Text}
	case errors.As(err, &broken) && broken.Timeout():
		return nil, errSilent
	case errors.As(err, &broken), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return nil, err
	default:
		return nil, errors.Join(errProtocol, err)
	}
}

// write sends frames with as few system calls as possible.
func (s *socket) write(frames []frame) error {
	s.out.hold()
	for _, f := range frames {
		message := websocket.TextMessage
		if f.kind == ping {
			message = websocket.PingMessage
		}
		if err := s.conn.WriteMessage(message, f.text); err != nil {
			_ = s.out.release()
			return stuck(err)
		}
	}
	return stuck(s.out.release())
}

// stuck distinguishes a write timeout from a broken connection.
func stuck(err error) error {
	var broken net.Error
	if errors.As(err, &broken) && broken.Timeout() {
		return errStuck
	}
	return err
}

// bid sends a close frame. The client should answer soon.
func (s *socket) bid(f closeFrame) error {
	s.readUntil(time.Now().Add(s.opts.CloseTime))
	return s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(f.code, f.reason), time.Now().Add(s.opts.CloseTime))
}

// hangUp ends a connection. It first drains what the client has sent: unread data would reset the connection, and the
// client would lose what it has not read yet.
func (s *socket) hangUp() {
	conn := s.out.Conn
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		if conn.SetReadDeadline(time.Now().Add(s.opts.CloseTime)) == nil {
			_, _ = io.CopyN(io.Discard, conn, 2*protocol.MaxPayload)
		}
	}
	s.cut()
}

func (s *socket) cut() { _ = s.conn.Close() }

// batch is a connection that buffers writes while it is held.
type batch struct {
	net.Conn
	pool *sync.Pool
	opts *Options

	mu       sync.Mutex
	held     bool
	buffer   *[batchBuffer]byte // nil while not buffering
	gathered int
	err      error // error of a buffered write
}

// Write implements net.Conn.
func (b *batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.held:
		return b.Conn.Write(p)
	case b.err != nil:
		return 0, b.err
	}
	switch {
	case len(p) > batchBuffer:
		b.flush(p)
	case b.gathered+len(p) > batchBuffer:
		b.flush(nil)
		fallthrough
	default:
		if b.buffer == nil {
			b.buffer, _ = b.pool.Get().(*[batchBuffer]byte)
		}
		b.gathered += copy(b.buffer[b.gathered:], p)
	}
	if b.err != nil {
		return 0, b.err
	}
	return len(p), nil
}

// SetWriteDeadline implements net.Conn. Buffered data is written with its own deadline, which depends on its size.
func (b *batch) SetWriteDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		return nil
	}
	return b.Conn.SetWriteDeadline(t)
}

func (b *batch) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
}

func (b *batch) release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	b.flush(nil)
	if b.buffer != nil {
		b.pool.Put(b.buffer)
		b.buffer = nil
	}
	return b.err
}

// flush sends the buffered data together with data too large to buffer.
func (b *batch) flush(large []byte) {
	size := b.gathered + len(large)
	if b.err != nil || size == 0 {
		return
	}
	if b.err = b.Conn.SetWriteDeadline(time.Now().Add(b.opts.writeTime(size))); b.err != nil {
		return
	}
	if b.gathered == 0 {
		_, b.err = b.Conn.Write(large)
		return
	}
	gathered := b.buffer[:b.gathered]
	b.gathered = 0
	if len(large) == 0 {
		_, b.err = b.Conn.Write(gathered)
		return
	}
	parts := net.Buffers{gathered, large}
	_, b.err = parts.WriteTo(b.Conn)
}
