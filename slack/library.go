package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	library "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// apiURL is where the Web API is. The transport may lead elsewhere.
const apiURL = "https://slack.com/api/"

// session implements wire with slack-go.
//
// The library's reconnect is not used, because it never gives up and does not say what was missed: each socket has a
// client of its own, whose second attempt is refused. Its logging is off.
type session struct {
	o  wireOptions
	on wireEvents

	mu     sync.Mutex
	client *socketmode.Client // of the present socket; nil if there is none
	cancel context.CancelFunc
}

func newSession(o wireOptions, on wireEvents) *session { return &session{o: o, on: on} }

// errSpent refuses the library's own reconnect.
var errSpent = errors.New("this socket is not opened again")

// errBare refuses to send a token without TLS.
var errBare = errors.New("the address uses no TLS and is not on this machine")

func (w *session) open(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	once := &onceTransport{transport: w.o.transport, userAgent: w.o.userAgent}
	api := library.New(w.o.token, library.OptionAppLevelToken(w.o.appToken), library.OptionAPIURL(apiURL),
		library.OptionHTTPClient(&http.Client{Transport: once, Timeout: w.o.timeLimit, CheckRedirect: stay}))
	dialer := &websocket.Dialer{Proxy: throughProxy, HandshakeTimeout: w.o.timeLimit, NetDialContext: w.dial, WriteBufferSize: 32 << 10}
	client := socketmode.New(api, socketmode.OptionDialer(dialer), socketmode.OptionPingInterval(w.o.silence))
	ended := make(chan error, 1)
	go func() { ended <- client.RunContext(ctx) }()
	hello := make(chan error, 1)
	go w.listen(cancel, client, hello, ended)
	return <-hello
}

// listen hands on what comes over a socket until it ends. hello gets nil when Slack has said hello, or the reason why not.
func (w *session) listen(cancel context.CancelFunc, client *socketmode.Client, hello chan<- error, ended <-chan error) {
	defer cancel()
	var open bool
	var failure error
	for {
		select {
		case e := <-client.Events:
			switch e.Type {
			case socketmode.EventTypeHello:
				open = true
				w.use(client, cancel)
				w.on.opened()
				hello <- nil
			case socketmode.EventTypeConnectionError:
				if data, is := e.Data.(*library.ConnectionErrorEvent); is && failure == nil {
					failure = data.ErrorObj
				}
				cancel()
			default:
				if told, is := envelopeOf(e); is {
					w.on.told(told)
				}
			}
		case err := <-ended:
			if open {
				w.use(nil, nil)
				w.on.lost()
				return
			}
			if failure == nil {
				failure = err
			}
			_, failure = w.scrubbed(answer{}, openFailure(failure))
			hello <- failure
			return
		}
	}
}

// openFailure is why a socket was not opened.
func openFailure(err error) error {
	if refused, is := errors.AsType[library.SlackErrorResponse](err); is {
		return &openError{refused.Err}
	}
	if errors.Is(err, errSpent) || err == nil {
		return errGone
	}
	if around, is := errors.AsType[*url.Error](err); is {
		err = around.Err // the URL may contain a ticket
	}
	return fmt.Errorf("connect to Slack: %w", err)
}

// envelopeOf is what an event of the library was made of. An unknown one is told too, so that it is acknowledged.
func envelopeOf(e socketmode.Event) (told envelope, is bool) {
	if bad, unknown := e.Data.(*socketmode.ErrorBadMessage); unknown {
		return told, json.Unmarshal(bad.Message, &told) == nil && told.ID != ""
	}
	if e.Request == nil || e.Request.EnvelopeID == "" {
		return told, false
	}
	return envelope{ID: e.Request.EnvelopeID, Type: e.Request.Type, Payload: e.Request.Payload}, true
}

func (w *session) use(client *socketmode.Client, cancel context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client, w.cancel = client, cancel
}

func (w *session) ack(ctx context.Context, envelopeID string) {
	w.mu.Lock()
	client := w.client
	w.mu.Unlock()
	if client != nil {
		_ = client.AckCtx(ctx, envelopeID, nil) // Slack sends the envelope again
	}
}

func (w *session) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
}

func (w *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: w.o.timeLimit, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
}

// throughProxy selects the proxy of a socket from the environment, and refuses unencrypted sockets except on this
// machine.
func throughProxy(r *http.Request) (*url.URL, error) {
	if !safe(r.URL) {
		return nil, errBare
	}
	return http.ProxyFromEnvironment(r)
}

// safe reports whether what is sent to an address cannot be read on its way.
func safe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "wss" || onThisMachine(u.Hostname())
}

// stay refuses redirects, so that the token is sent nowhere else.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// onceTransport lets one request pass.
type onceTransport struct {
	transport http.RoundTripper
	userAgent string
	mu        sync.Mutex
	spent     bool
}

func (t *onceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	spent := t.spent
	t.spent = true
	t.mu.Unlock()
	if spent {
		return nil, errSpent
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", t.userAgent)
	return t.transport.RoundTrip(r)
}

func (w *session) ask(ctx context.Context, r request) (answer, error) {
	x := &capturingTransport{transport: w.o.transport, userAgent: w.o.userAgent}
	api := library.New(w.o.token, library.OptionAPIURL(apiURL), library.OptionHTTPClient(&http.Client{Transport: x, CheckRedirect: stay}))
	// The library has no call for any method but this one, by which all requests have the same form.
	_, _, _, err := api.SendMessageContext(x.trace(ctx), "", library.UnsafeMsgOptionEndpoint(apiURL+r.method, func(form url.Values) {
		form.Del("channel")
		for name, values := range r.args {
			form[name] = values
		}
	}))
	return w.scrubbed(x.result(err))
}

// scrubbed is an answer and an error without the tokens: refusals are shown and logged.
func (w *session) scrubbed(a answer, err error) (answer, error) {
	for _, token := range []string{w.o.token, w.o.appToken} {
		if token == "" {
			continue
		}
		a.body = bytes.ReplaceAll(a.body, []byte(token), []byte("***"))
		if err != nil && strings.Contains(err.Error(), token) {
			err = errors.New(strings.ReplaceAll(err.Error(), token, "***"))
		}
	}
	return a, err
}

func (w *session) respond(ctx context.Context, to string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("encode an answer: %w", err)
	}
	return w.send(ctx, to, "application/json", text)
}

func (w *session) upload(ctx context.Context, to string, content []byte) (answer, error) {
	return w.send(ctx, to, "application/octet-stream", content)
}

// send posts a body to an address that Slack gave, without the token.
func (w *session) send(ctx context.Context, to, kind string, body []byte) (answer, error) {
	x := &capturingTransport{transport: w.o.transport, userAgent: w.o.userAgent}
	r, err := http.NewRequestWithContext(x.trace(ctx), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return answer{}, errAddress
	}
	r.Header.Set("Content-Type", kind)
	response, err := (&http.Client{Transport: x, CheckRedirect: stay}).Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return w.scrubbed(x.result(err))
}

func (w *session) file(ctx context.Context, address string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, errors.New("the file's address cannot be requested")
	}
	r.Header.Set("User-Agent", w.o.userAgent)
	r.Header.Set("Authorization", "Bearer "+w.o.token)
	return r, nil
}

// errAddress replaces errors that show an address that Slack gave, which is a secret.
var errAddress = errors.New("the address that Slack gave cannot be requested")

// capturingTransport is the transport of one request, and keeps the raw answer.
type capturingTransport struct {
	transport http.RoundTripper
	userAgent string
	a         answer
}

func (x *capturingTransport) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.a.sent = true }})
}

// result is the answer; the library's own parsing is not used.
func (x *capturingTransport) result(err error) (answer, error) {
	if x.a.status != 0 {
		return x.a, nil
	}
	if around, is := errors.AsType[*url.Error](err); is {
		err = around.Err // the URL may be a secret
	}
	return x.a, err
}

func (x *capturingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", x.userAgent)
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

// onThisMachine reports whether a host is this machine.
func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
