package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Limits of what the other side can make this one wait for.
const (
	writeTime = 10 * time.Second
	closeTime = 2 * time.Second
)

// Close codes of this side.
const (
	closeNormal      = websocket.CloseNormalClosure
	closeAbnormal    = websocket.CloseAbnormalClosure
	closeTickTimeout = 4000
)

// socket is the connection below the protocol. One goroutine reads.
type socket struct {
	conn    *websocket.Conn
	writing sync.Mutex
}

func dial(ctx context.Context, url string, opts *Options) (*socket, error) {
	dialer := websocket.Dialer{NetDialContext: opts.NetDial, Proxy: http.ProxyFromEnvironment}
	conn, answer, err := dialer.DialContext(ctx, url, opts.Header)
	if answer != nil {
		defer answer.Body.Close()
	}
	if errors.Is(err, websocket.ErrBadHandshake) {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return nil, &UpgradeError{URL: url, Status: answer.StatusCode, Text: string(text)}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // that of ctx, which the socket may notice first
		err = fmt.Errorf("connect to %s: %w", url, context.DeadlineExceeded)
	}
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(protocol.MaxPayload)
	return &socket{conn: conn}, nil
}

// read returns the next frame. Invalid frames are skipped: they cannot be answered.
func (s *socket) read() (*frame, error) {
	for {
		kind, text, err := s.conn.ReadMessage()
		if err != nil {
			return nil, err
		}
		f := new(frame)
		if kind == websocket.TextMessage && json.Unmarshal(text, f) == nil {
			return f, nil
		}
	}
}

func (s *socket) write(text []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, text)
}

// bid sends a close frame and briefly waits for the other side's.
func (s *socket) bid(why *ClosedError) {
	deadline := time.Now().Add(closeTime)
	code := why.Code
	if code == closeAbnormal {
		code = closeNormal
	}
	said := why.Err == nil && s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why.Text), deadline) == nil
	if !said || s.hurry() != nil {
		s.abandon()
	}
}

// hurry bounds the time for what the other side still has to send.
func (s *socket) hurry() error { return s.conn.SetReadDeadline(time.Now().Add(closeTime)) }

func (s *socket) abandon() { _ = s.conn.Close() }
