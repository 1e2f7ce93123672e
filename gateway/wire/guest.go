package wire

import (
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Guest is a client that the caller of Hub.Admit has identified, so that it shakes no hands and shows no secret.
type Guest struct {
	Client protocol.Client
	Scopes []string
	Caps   []string
	// Methods are those that it may call, as far as its scopes cover them.
	Methods []string
	// FrameBytes is the size limit of its frames.
	FrameBytes int64
}

// Admit serves a WebSocket of a guest: hello-ok is the first frame, in the newest version of the protocol. Host, origin and identity have
// been checked by the caller. It returns when the connection has ended.
func (h *Hub) Admit(w http.ResponseWriter, r *http.Request, g Guest) {
	if !isUpgrade(r) {
		refuse(w, http.StatusUpgradeRequired, "upgrade_required", "connect with a WebSocket")
		return
	}
	c := h.open(w, r)
	if c == nil {
		return
	}
	defer h.leave()
	if err := h.join(c); err != nil {
		c.part(err)
		return
	}
	c.part(c.guarded(func() error {
		if err := c.welcome(g); err != nil {
			return err
		}
		return c.listen()
	}))
}

// welcome makes a guest a peer.
func (c *client) welcome(g Guest) error {
	p := &Peer{ConnID: c.id, Protocol: protocol.Newest, Client: g.Client, Role: protocol.RoleOperator, Scopes: g.Scopes, Caps: g.Caps,
		IP: c.ip.String(), Origin: c.origin, guest: &g}
	hello, err := c.hub.greeting.to(c, p, c.hub.door.Load(), byNothing)
	var text []byte
	if err == nil {
		text, err = protocol.Event(eventHello, hello, nil, nil)
	}
	if err != nil {
		c.logger().Error("cannot build hello-ok", "err", err)
		return c.reject(&refusal{reason: RefusedFailure, bid: closeFrame{codeInternal, "the gateway's state is unavailable"}})
	}
	c.hub.admit(c, p, text)
	return nil
}

// eventHello carries hello-ok to a guest, which has sent no request that it could answer.
const eventHello = "hello-ok"

// frameBytes is the size limit of the peer's frames.
func (p *Peer) frameBytes() int64 {
	if p.guest == nil {
		return protocol.MaxPayload
	}
	return p.guest.FrameBytes
}

// mayCall refuses the methods that a guest was not given.
func (p *Peer) mayCall(method string) *protocol.Error {
	if p.guest == nil || slices.Contains(p.guest.Methods, method) {
		return nil
	}
	return &protocol.Error{Code: protocol.CodeForbidden, Message: "method not allowed for this session: " + method}
}
