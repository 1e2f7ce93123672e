// Package wire carries the gateway protocol: it lets clients in, reads their requests, answers them, and tells everybody what happens. It
// knows no method; only socket.go knows the WebSocket library.
//
// It promises:
//
//   - Nobody is let in who does not show what Access asks for, or who asks from a page or for a host that is not allowed. Guessing is slow.
//   - What a client sends is bounded before and after it is let in, and so is what it may have under way. A client that asks for more is not
//     read until there is room: it waits, nobody else does. What all of them together have under way is bounded too.
//   - Those who say nothing keep nobody out: where too many shake hands, the time of the one that has been at it longest is over.
//   - A request runs on its own and ends with its connection. One that panics is answered like one that fails.
//   - An event is encoded once, has the next number for all, and is told in the order of numbers. Telling never waits for a client. What waits
//     for one is bounded: what may be left out is left out above half of it, and whoever does not keep up after that is closed.
//   - Nothing is told before hello-ok, and nothing that is told after it is missing but what was left out.
//   - A client of whom nothing is heard, not even the answer to a ping, is cut off after two ticks.
//   - When Run ends, whoever is there is told so, gets the answers to what was under way if they do not take long, and a goodbye. No goroutine
//     is left but those of methods that do not heed the end of their context: they are logged, and not waited for.
package wire

import (
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Methods answers requests.
type Methods interface {
	// Answer answers one call. It is called on a goroutine of its own, many at a time, and only if the peer's scopes and role allow the
	// method. An error that is a *protocol.Error is told as it is, any other one as UNAVAILABLE. payload is encoded as JSON; a
	// json.RawMessage is sent as it is. payload may come beside an error. It has to return soon after ctx ends, which it does with the
	// connection and not before, so that what is kept for a connection can end with it.
	Answer(ctx context.Context, call *Call) (payload any, err error)
	// Knows reports whether there is such a method.
	Knows(method string) bool
	// Names lists the methods and events that clients are told of.
	Names() (methods, events []string)
	// Snapshot is what a client is told of the state when it is let in: everything of hello-ok's snapshot but presence, stateVersion and
	// uptimeMs.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is part of what a client is told when it is let in.
type Snapshot struct {
	Health          json.RawMessage
	ConfigPath      string
	StateDir        string
	SessionDefaults SessionDefaults
}

// SessionDefaults say which session is meant where none is named.
type SessionDefaults struct {
	DefaultAgentID string `json:"defaultAgentId"`
	MainKey        string `json:"mainKey"`
	MainSessionKey string `json:"mainSessionKey"`
	Scope          string `json:"scope"`
}

// Call is a request of a peer.
type Call struct {
	Peer   *Peer
	ID     string
	Method string
	Params json.RawMessage // an object that protocol.Check has found right, {} where the request has none
	// Interim answers the request before its end, under the same id. It never waits.
	Interim func(payload any)
	// Later is for an answer that may take long, and that nobody need wait for: what Answer returns after Later is told to nobody. The
	// function that it gives answers the request instead, once, at any time and without waiting. Until then the request does not count as
	// under way: it holds neither a goroutine nor up what else the client asks for, and a gateway that ends does not wait for it. What would
	// be answered after the connection has ended is dropped.
	Later func() (answer func(payload any, err error))
	// Read has then called once the client has read everything that it was told so far, what Interim has answered included: a ping shows it.
	// It is called as well when the connection ends, and after Options.ReadTime, so that nobody holds up anything by not answering. then must
	// not wait. Read holds no goroutine.
	Read func(then func())
}

// Peer is a client that was let in. It does not change.
type Peer struct {
	ConnID   string // unique
	Protocol int    // 3 or 4
	Client   protocol.Client
	Role     string
	Scopes   []string
	Caps     []string
	DeviceID string // "" without a device, or with one that has shown no signature
	IP       string
	Origin   string // of the page that asks; "" for a program
}

// Access says who is let in. It may change while the gateway serves.
type Access struct {
	Mode     string // token, password, none
	Token    config.Secret
	Password config.Secret
	Origins  []string // of pages of other machines that may connect; "*" is any
	Hosts    []string // further names under which the gateway may be asked

	ownPage bool // the gateway serves a page, which may connect to it
}

// Event is something to tell.
type Event struct {
	Name      string
	Payload   any    // encoded once for all
	Droppable bool   // a client that does not keep up may miss it
	State     bool   // it comes with the versions of presence and health
	Scope     string // only peers that have it are told; the others find a gap in the numbers. "" is everybody.
}
