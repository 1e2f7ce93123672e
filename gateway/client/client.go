// Package client is a client of the gateway protocol: it connects, calls methods, receives events, and reports why the
// connection closed.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Options of Dial. The zero value is a command-line client with all operator scopes.
type Options struct {
	Token       string
	Password    string
	DeviceToken string // instead of Token and Password, from an earlier hello-ok
	Device      *Device

	ID          string // of the program; default cli
	Mode        string // default cli
	DisplayName string
	Version     string // default dev
	Platform    string // default the system's name
	Family      string // of the device; "" sends none
	InstanceID  string

	Role   string   // default operator
	Scopes []string // nil: all operator scopes; empty: none
	Caps   []string

	MinProtocol, MaxProtocol int // 0: every supported version

	// Event is called for each event, in order, before the next frame is read; it must not call the client. nil: events are dropped.
	Event func(Event)

	Header        http.Header // additional headers of the upgrade request, e.g. Origin
	HandshakeTime time.Duration
	NetDial       func(ctx context.Context, network, address string) (net.Conn, error) // nil: the system's roots
}

// Event is a message the gateway sends without a request.
type Event struct {
	Name         string
	Payload      json.RawMessage
	Seq          int64 // sequence number among the broadcasts; 0 if it has none
	Missed       int64 // number of sequence numbers skipped before it
	StateVersion *protocol.StateVersion
}

// Hello is the gateway's hello-ok.
type Hello struct {
	Protocol int `json:"protocol"`
	Server   struct {
		Version string `json:"version"`
		ConnID  string `json:"connId"`
	} `json:"server"`
	Features struct {
		Methods []string `json:"methods"`
		Events  []string `json:"events"`
	} `json:"features"`
	Snapshot json.RawMessage `json:"snapshot"`
	Auth     struct {
		DeviceToken string   `json:"deviceToken"`
		Role        string   `json:"role"`
		Scopes      []string `json:"scopes"`
	} `json:"auth"`
	Policy struct {
		MaxPayload     int64 `json:"maxPayload"`
		TickIntervalMS int64 `json:"tickIntervalMs"`
	} `json:"policy"`

	Raw json.RawMessage `json:"-"` // the whole payload
}

// Client is a connection to a gateway. It is safe for concurrent use.
type Client struct {
	opts   Options
	socket *socket
	hello  Hello
	alive  *time.Timer
	seq    int64 // sequence number of the newest event; used by the reader only

	mu      sync.Mutex
	calls   int64
	waiting map[string]*call
	closed  *ClosedError  // the reason; nil while open
	done    chan struct{} // closed when the connection ends
	read    chan struct{} // closed when the reader has ended
}

type call struct {
	answers chan *frame
	gone    chan struct{} // closed when the caller has stopped waiting
}

// Dial connects to the gateway at a ws or wss URL and returns when the handshake is done; ctx covers only that. A
// refusal is a *RefusedError, any other answer to the upgrade an *UpgradeError, an earlier end a *ClosedError.
func Dial(ctx context.Context, url string, opts Options) (*Client, error) {
	opts.fill()
	ctx, stop := context.WithTimeout(ctx, opts.HandshakeTime)
	defer stop()
	s, err := dial(ctx, url, &opts)
	if err != nil {
		return nil, err
	}
	c := &Client{opts: opts, socket: s, waiting: map[string]*call{}, done: make(chan struct{}), read: make(chan struct{})}
	if err := c.shakeHands(ctx); err != nil {
		s.abandon()
		if refused := new(RefusedError); ctx.Err() != nil && !errors.As(err, &refused) {
			err = fmt.Errorf("connect to %s: %w", url, context.Cause(ctx))
		}
		return nil, err
	}
	c.watch()
	go c.listen()
	return c, nil
}

// Hello returns the gateway's hello-ok.
func (c *Client) Hello() Hello { return c.hello }

// Done is closed when the connection has ended. Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, as a *ClosedError; nil while it is open.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		return nil
	}
	return c.closed
}

// Call invokes a method and returns the payload of the first answer. params are encoded as JSON; nil sends none. A
// failure is a *protocol.Error, returned with the payload if the answer has one.
func (c *Client) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return c.ask(ctx, method, params, nil)
}

// CallFinal is Call for methods that answer twice: an answer with status accepted goes to interim, which may be nil,
// and the next one is returned.
func (c *Client) CallFinal(ctx context.Context, method string, params any, interim func(payload json.RawMessage)) (json.RawMessage, error) {
	if interim == nil {
		interim = func(json.RawMessage) {}
	}
	return c.ask(ctx, method, params, interim)
}

// Close closes the connection and waits until it has ended. It may be called more than once.
func (c *Client) Close() error {
	c.end(&ClosedError{Code: closeNormal, Text: "closed by this client"})
	<-c.read
	return nil
}

func (c *Client) ask(ctx context.Context, method string, params any, interim func(json.RawMessage)) (json.RawMessage, error) {
	waiting := &call{answers: make(chan *frame, 2), gone: make(chan struct{})}
	defer close(waiting.gone)
	id, err := c.expect(waiting)
	if err != nil {
		return nil, err
	}
	defer c.forget(id)
	text, err := request(id, method, params)
	if err != nil {
		return nil, err
	}
	if err := c.socket.write(text); err != nil {
		c.end(closedBy(err))
		return nil, c.Err()
	}
	for {
		select {
		case f := <-waiting.answers:
			if interim != nil && f.accepted() {
				interim(f.Payload)
				continue
			}
			return f.Payload, f.failure()
		case <-c.done:
			select {
			case f := <-waiting.answers:
				if interim == nil || !f.accepted() {
					return f.Payload, f.failure()
				}
			default:
			}
			return nil, c.Err()
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", method, context.Cause(ctx))
		}
	}
}

func (c *Client) expect(waiting *call) (id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return "", c.closed
	}
	c.calls++
	id = strconv.FormatInt(c.calls, 10)
	c.waiting[id] = waiting
	return id, nil
}

func (c *Client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *Client) listen() {
	defer close(c.read)
	defer c.socket.abandon()
	for {
		f, err := c.socket.read()
		if err != nil {
			c.end(closedBy(err))
			return
		}
		switch f.Type {
		case "res":
			c.answer(f)
		case "event":
			c.receive(f)
		}
	}
}

func (c *Client) answer(f *frame) {
	c.mu.Lock()
	waiting := c.waiting[f.ID]
	c.mu.Unlock()
	if waiting == nil {
		return
	}
	select {
	case waiting.answers <- f:
	case <-waiting.gone:
	}
}

func (c *Client) receive(f *frame) {
	if f.Event == "tick" {
		c.stillThere()
	}
	e := Event{Name: f.Event, Payload: f.Payload, StateVersion: f.StateVersion}
	if f.Seq != nil {
		e.Seq = *f.Seq
		if c.seq != 0 {
			e.Missed = max(e.Seq-c.seq-1, 0)
		}
		c.seq = e.Seq
	}
	if c.opts.Event != nil {
		c.opts.Event(e)
	}
}

// watch closes the connection if the gateway stops sending ticks.
func (c *Client) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive = time.AfterFunc(c.patience(), func() { c.end(&ClosedError{Code: closeTickTimeout, Text: "tick timeout"}) })
}

func (c *Client) stillThere() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		c.alive.Reset(c.patience())
	}
}

// patience is how long a tick may be overdue.
func (c *Client) patience() time.Duration {
	every := time.Duration(c.hello.Policy.TickIntervalMS) * time.Millisecond
	if every <= 0 {
		every = protocol.TickInterval
	}
	return 2 * every
}

// end closes the connection with a reason, unless it already has one.
func (c *Client) end(why *ClosedError) {
	c.mu.Lock()
	first := c.closed == nil
	if first {
		c.closed = why
		c.alive.Stop()
		close(c.done)
	}
	c.mu.Unlock()
	if first {
		c.socket.bid(why)
	}
}
