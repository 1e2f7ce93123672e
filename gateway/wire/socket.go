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

// Sizes of the buffers of a connection. Those for writing are shared: only connections that are being written to have one.
const (
	readBuffer  = 1 << 10
	writeBuffer = 4 << 10
	batchBuffer = 32 << 10
)

// isUpgrade reports whether a request asks to become a WebSocket.
func isUpgrade(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// upgradeError is a request that does not keep to the protocol. Nothing has been answered yet.
type upgradeError struct {
	status int
	reason error
}

func (e *upgradeError) Error() string { return e.reason.Error() }
func (e *upgradeError) Unwrap() error { return e.reason }

// farewell is what a connection is closed with.
type farewell struct {
	code   int
	reason string // cut to maxReason bytes
}

// Codes of farewells.
const (
	codeInvalidText = websocket.CloseInvalidFramePayloadData
	codeNormal      = protocol.CloseSilent
	codeProtocol    = protocol.CloseMismatch
	codePolicy      = protocol.ClosePolicy
	codeTooBig      = protocol.CloseTooBig
	codeInternal    = protocol.CloseInternal
	codeRestart     = protocol.CloseRestart
)

// buffers are what connections share.
type buffers struct{ frames, batches sync.Pool }

func newBuffers() *buffers {
	return &buffers{batches: sync.Pool{New: func() any { return new([batchBuffer]byte) }}}
}

// socket is one connection. One goroutine reads, one at a time writes; cut may be called by anybody.
type socket struct {
	conn *websocket.Conn
	out  *batch
	opts *Options
}

// upgrade makes a connection of a request. Compression is off: it costs more than loopback saves. Who may connect has been decided.
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

// hijacker puts a batch before the connection that it hands over.
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

// Errors of read. Any other one means that the connection is broken.
var (
	errTooBig   = errors.New("the frame is too large")
	errNotText  = errors.New("the text of a frame is no UTF-8")
	errSilent   = errors.New("nothing has come in time")
	errProtocol = errors.New("what has come is no WebSocket frame")
)

// errStuck is the error of write where the client has taken nothing for too long.
var errStuck = errors.New("the client takes nothing")

// leftError is what a client has closed its connection with.
type leftError farewell

func (e *leftError) Error() string { return "the client has hung up" }

// limit is how large a frame may be from now on.
func (s *socket) limit(bytes int64) { s.conn.SetReadLimit(bytes) }

// readUntil makes read fail with errSilent at some time. The zero time is never.
func (s *socket) readUntil(t time.Time) { _ = s.conn.SetReadDeadline(t) }

// heard has functions called for each ping, and, with what the ping said, for each answer to one.
func (s *socket) heard(ping func(), pong func(text string)) {
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

// read returns the next frame, put together if it came in pieces. What is binary may be anything.
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
	case errors.As(err, &left) && left.Code == websocket.CloseAbnormalClosure: // the connection ended without a word
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

// write sends frames, with as few calls of the system as can be.
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

// stuck tells a client that takes nothing from a connection that is broken.
func stuck(err error) error {
	var broken net.Error
	if errors.As(err, &broken) && broken.Timeout() {
		return errStuck
	}
	return err
}

// bid says goodbye. The client is expected to answer soon.
func (s *socket) bid(f farewell) error {
	s.readUntil(time.Now().Add(s.opts.CloseTime))
	return s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(f.code, f.reason), time.Now().Add(s.opts.CloseTime))
}

// hangUp ends a connection to which nobody listens any more. What the client has not read yet would be lost if something that it has sent
// were still unread, so that is read first.
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

// batch is a connection that gathers what is written while it is held.
type batch struct {
	net.Conn
	pool *sync.Pool
	opts *Options

	mu       sync.Mutex
	held     bool
	buffer   *[batchBuffer]byte // nil while nothing is gathered
	gathered int
	err      error // of a write while it was held
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

// SetWriteDeadline implements net.Conn. What is gathered has deadlines of its own, which go by its size.
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

// release sends what has been gathered.
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

// flush sends what has been gathered, and what is too large to be, at once.
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
