package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/channel"
)

// session implements wire with discordgo.
//
// The library's reconnect is disabled: if a socket dies while a heartbeat is written, two of its goroutines reconnect,
// and the second closes the first one's socket. Its rate limiter is bypassed, because it sleeps. Its logging is off.
type session struct {
	own *discordgo.Session
	o   wireOptions

	mu     sync.Mutex
	socket net.Conn // of the latest dial
	ended  bool     // no more sockets may be opened
}

func newSession(o wireOptions, on wireEvents) (*session, error) {
	own, err := discordgo.New("Bot " + o.token)
	if err != nil {
		return nil, errors.New("discord: create a session")
	}
	w := &session{own: own, o: o}
	own.ShouldReconnectOnError, own.ShouldReconnectVoiceOnSessionError = false, false
	own.ShouldRetryOnRateLimit, own.MaxRestRetries = false, 0
	own.StateEnabled, own.SyncEvents = false, true
	own.LogLevel = -1
	own.UserAgent = o.userAgent
	own.Client = &http.Client{Transport: o.transport, Timeout: o.timeLimit, CheckRedirect: stay}
	own.Dialer = &websocket.Dialer{Proxy: throughProxy, HandshakeTimeout: o.timeLimit, NetDialContext: w.dial}
	own.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { on.told(e.Type, e.RawData) })
	own.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) { on.lost() })
	return w, nil
}

// errBare refuses to send the token to a gateway without TLS.
var errBare = errors.New("the gateway uses no TLS and is not on this machine")

// throughProxy selects the proxy of a socket from the environment, and refuses unencrypted sockets except on this
// machine.
func throughProxy(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme == "http" && !onThisMachine(r.URL.Hostname()) {
		return nil, errBare
	}
	return http.ProxyFromEnvironment(r)
}

// stay refuses redirects, so that the token is sent nowhere else.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (w *session) open(content bool) error {
	w.own.Identify.Intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages |
		discordgo.IntentGuildMessageReactions | discordgo.IntentDirectMessageReactions
	if content {
		w.own.Identify.Intents |= discordgo.IntentMessageContent
	}
	err := w.own.Open()
	var closed *websocket.CloseError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, discordgo.ErrWSAlreadyOpen):
		return errStillOpen
	case errors.As(err, &closed):
		return &closeError{code: closed.Code}
	}
	return fmt.Errorf("connect to the gateway: %w", err)
}

// close takes a second, which the library sleeps before it closes the socket.
func (w *session) close() {
	_ = w.own.Close() // it has nothing to tell
	w.end()
}

func (w *session) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cut()
}

func (w *session) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.socket != nil {
		_ = w.socket.Close()
	}
}

// dial opens the gateway's connections, so that they can be closed and have timeouts.
func (w *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	w.socket = conn
	return &silenceConn{Conn: conn, silence: w.o.silence}, nil
}

// silenceConn is a connection that fails after a silence; heartbeat acknowledgements arrive more often.
type silenceConn struct {
	net.Conn
	silence time.Duration
}

func (c *silenceConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (w *session) ask(ctx context.Context, r request) (answer, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return answer{}, fmt.Errorf("encode a request: %w", err)
		}
	}
	kind := "application/json"
	if r.file != nil {
		var err error
		if body, kind, err = withFile(body, r.file); err != nil {
			return answer{}, fmt.Errorf("encode a request: %w", err)
		}
	}
	x := &capturingTransport{transport: w.o.transport}
	trace := httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.a.sent = true }}
	client := &http.Client{Transport: x, CheckRedirect: stay}
	bucket := discordgo.NewRatelimiter().LockBucket("") // its own, shared with no waiter
	_, err := w.own.RequestWithLockedBucket(r.method, discordgo.EndpointAPI+r.path[1:], kind, body, bucket, 0,
		discordgo.WithContext(httptrace.WithClientTrace(ctx, &trace)), discordgo.WithClient(client))
	if x.a.status != 0 {
		return x.a, nil // the library's own parsing is not used
	}
	return x.a, err
}

// withFile is a form of a JSON body and a file.
func withFile(body []byte, file *channel.File) (form []byte, kind string, err error) {
	var to bytes.Buffer
	parts := multipart.NewWriter(&to)
	if err := parts.WriteField("payload_json", string(body)); err != nil {
		return nil, "", err
	}
	part, err := parts.CreateFormFile("files[0]", file.Name)
	if err == nil {
		_, err = part.Write(file.Content)
	}
	err = errors.Join(err, parts.Close())
	return to.Bytes(), parts.FormDataContentType(), err
}

// capturingTransport is the transport of one request, and keeps the raw answer.
type capturingTransport struct {
	transport http.RoundTripper
	a         answer
}

func (x *capturingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := x.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	x.a.status, x.a.header, x.a.body = response.StatusCode, response.Header, body
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
