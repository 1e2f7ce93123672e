// Package wire is the transport of the gateway protocol: it accepts clients, reads requests, sends answers and
// broadcasts events. It knows no methods; only socket.go uses the WebSocket library.
//
// It guarantees:
//
//   - A client is accepted only with the credentials that Access requires, and only from an allowed page and host. Guessing is slow.
//   - A client's input is bounded before and after the handshake, and so are its active requests. A client that sends more is not read
//     until there is room; others are not delayed. The total over all clients is bounded too.
//   - Silent connections keep no one out: if too many are shaking hands, the oldest is dropped.
//   - A request runs on its own goroutine and ends with its connection. A panic is answered like a failure.
//   - An event is encoded once, has one number for all clients, and is sent in number order. Broadcasting never blocks on a client. Queues
//     are bounded: above half of the limit droppable events are dropped, and a client that stays too slow is closed.
//   - Nothing is sent before hello-ok, and after it only dropped events are missing.
//   - A client that sends nothing, not even pongs, is cut off after two ticks.
//   - When Run ends, clients are notified, receive the answers to active requests if these end soon, and a close frame. No goroutine
//     remains but those of methods that ignore the end of their context: they are logged and not waited for.
package wire

import (
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Methods implements the methods.
type Methods interface {
	// Answer handles one call. It runs on its own goroutine, concurrently with others, and only if the peer's scopes
	// and role allow the method. A *protocol.Error is sent as it is, any other error as UNAVAILABLE. payload is
	// encoded as JSON; a json.RawMessage is sent as it is. payload may accompany an error. Answer has to return soon
	// after ctx ends, which it does with the connection and not before, so that a connection's state can end with it.
	Answer(ctx context.Context, call *Call) (payload any, err error)
	// Knows reports whether a method exists.
	Knows(method string) bool
	// Names lists the methods and events for hello-ok.
	Names() (methods, events []string)
	// Snapshot returns hello-ok's snapshot except presence, stateVersion and uptimeMs.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is the methods' part of hello-ok's snapshot.
type Snapshot struct {
	Health          json.RawMessage
	ConfigPath      string
	StateDir        string
	SessionDefaults protocol.SessionDefaults
}

// Call is a peer's request.
type Call struct {
	Peer   *Peer
	ID     string
	Method string
	Params json.RawMessage // an object validated by protocol.Check; {} if the request has none
	// Interim sends an interim answer under the same id. It never blocks.
	Interim func(payload any)
	// Later is for an answer that may take long: what Answer returns after Later is discarded. The returned function
	// answers the request instead, once, at any time and without blocking. Until then the request does not count as
	// active: it holds no goroutine, does not delay the client's other requests, and does not delay a shutdown. An
	// answer after the end of the connection is dropped.
	Later func() (answer func(payload any, err error))
	// Read calls then once the client has read everything sent so far, including interim answers, which a ping
	// confirms. It is also called when the connection ends, and after Options.ReadTime, so that a silent client delays
	// nothing. then must not block. Read holds no goroutine.
	Read func(then func())
}

// Peer is an accepted client. It is immutable.
type Peer struct {
	ConnID   string // unique
	Protocol int    // 3 or 4
	Client   protocol.Client
	Role     string
	Scopes   []string
	Caps     []string
	DeviceID string // "" without a device, or with an unsigned one
	IP       string
	Origin   string // origin of the page; "" for a program

	guest *Guest // nil for a client that has shaken hands
}

// Access says who may connect. It may change at run time.
type Access struct {
	Mode     string // token, password, none
	Token    config.Secret
	Password config.Secret
	Worker   config.Secret // of workers, whatever the mode; "" admits none
	Origins  []string      // allowed origins of pages on other machines; "*" is any
	Hosts    []string      // additional allowed host names

	ownPage bool // the gateway serves a page, which may connect
}

// Event is a message to peers.
type Event struct {
	Name      string
	Payload   any    // encoded once for all
	Droppable bool   // may be dropped for slow clients
	State     bool   // sent with the versions of presence and health
	Scope     string // required scope; peers without it see a gap in the numbers. "" is everyone.
}
