package wire

import (
	"errors"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// challenge is what a client has to sign.
type challenge struct {
	Nonce string `json:"nonce"`
	TS    int64  `json:"ts"`
}

// refusal is why a client is not let in.
type refusal struct {
	reason string          // one of the Refused constants
	id     string          // of the request
	err    *protocol.Error // nil: the client is not answered
	bid    farewell
}

// shakeHands lets a client in, or tells it why not. An error means that the connection is over.
func (c *client) shakeHands() error {
	h := c.hub
	ask := challenge{h.opts.NewID(), h.opts.Now().UnixMilli()}
	text, err := protocol.Event("connect.challenge", ask, nil, nil)
	if err != nil {
		return err
	}
	if _, write := c.put(frame{answer, text}); write {
		c.write()
	}
	text, err = c.socket.read()
	switch {
	case errors.Is(err, errNotText):
		return c.turnAway(&refusal{reason: RefusedFrame, bid: farewell{codeInvalidText, "invalid UTF-8"}})
	case errors.Is(err, errSilent):
		h.stats.refuse(RefusedSilent)
		return err
	case errors.Is(err, errTooBig), errors.Is(err, errProtocol):
		h.stats.refuse(RefusedFrame)
		return err
	case err != nil:
		h.stats.refuse(RefusedGone)
		return err
	}
	peer, hello, no := c.judge(text, ask.Nonce)
	if no != nil {
		return c.turnAway(no)
	}
	h.admit(c, peer, hello)
	return nil
}

// turnAway tells a client why it is not let in and waits until it is gone.
func (c *client) turnAway(no *refusal) error {
	c.hub.stats.refuse(no.reason)
	if no.err != nil {
		c.logger().Info("a client is not let in", "reason", no.reason, "code", no.err.Code, "message", no.err.Message)
		c.fail(no.id, no.err, nil)
		no.bid.reason = no.err.Message
	}
	no.bid.reason = protocol.CloseReason(no.bid.reason)
	c.finish(no.bid, true)
	return c.linger()
}

// linger waits until a client to whom goodbye was said is gone.
func (c *client) linger() error {
	for {
		if _, err := c.socket.read(); err != nil && !errors.Is(err, errNotText) {
			return err
		}
	}
}

// judge decides on the first frame of a client.
func (c *client) judge(text []byte, nonce string) (*Peer, []byte, *refusal) {
	r, err := protocol.ParseRequest(text)
	switch {
	case errors.Is(err, protocol.ErrNotJSON):
		return nil, nil, &refusal{reason: RefusedFrame, bid: farewell{codeNormal, "invalid request frame"}}
	case err != nil:
		return nil, nil, &refusal{reason: RefusedFrame, bid: farewell{codePolicy, "invalid request frame"}}
	}
	no := func(reason string, code int, e *protocol.Error) (*Peer, []byte, *refusal) {
		return nil, nil, &refusal{reason, r.ID, e, farewell{code: code}}
	}
	if r.Method != "connect" {
		return no(RefusedFrame, codePolicy, &protocol.Error{Code: protocol.CodeInvalidRequest,
			Message: "invalid handshake: first request must be connect"})
	}
	said, e := protocol.ParseConnect(r.Params)
	if e != nil {
		return no(RefusedFrame, codePolicy, e)
	}
	version, e := protocol.Negotiate(said.MinProtocol, said.MaxProtocol)
	if e != nil {
		return no(RefusedProtocol, codeProtocol, e)
	}
	door := c.hub.door.Load()
	if !c.comesFromAnAllowedPage(door, said) {
		return no(RefusedOrigin, codePolicy, protocol.OriginRefused())
	}
	how, reason, e := c.identify(door, said, nonce)
	if e != nil {
		return no(reason, codePolicy, e)
	}
	if said.Role != protocol.RoleOperator {
		return no(RefusedRole, codePolicy, &protocol.Error{Code: protocol.CodeInvalidRequest,
			Message: "role " + said.Role + " is not served by this gateway"})
	}
	p := &Peer{ConnID: c.id, Protocol: version, Client: said.Client, Role: said.Role, Scopes: said.Scopes, Caps: said.Caps,
		IP: c.ip.String(), Origin: c.origin}
	if said.Device != nil {
		p.DeviceID = said.Device.ID
	}
	hello, err := c.hub.greeting.to(c, p, door, how)
	if err != nil {
		c.logger().Error("a client cannot be greeted", "err", err)
		return no(RefusedFailure, codeInternal, &protocol.Error{Code: protocol.CodeUnavailable, Retryable: true,
			Message: "the gateway cannot tell its state"})
	}
	text, err = protocol.Response(r.ID, hello)
	if err != nil {
		c.logger().Error("a client cannot be greeted", "err", err)
		return no(RefusedFailure, codeInternal, &protocol.Error{Code: protocol.CodeUnavailable, Message: "internal error"})
	}
	return p, text, nil
}

// comesFromAnAllowedPage reports whether the page that asks may, if one does. Clients that are pages have to say which one they are of.
func (c *client) comesFromAnAllowedPage(d *door, said *protocol.Connect) bool {
	if c.origin == "" {
		return !said.Client.IsControlUI() && !said.Client.IsWebchat()
	}
	return d.shares(c.origin, c.host)
}

// identify says how a client is let in, or why it is not.
func (c *client) identify(d *door, said *protocol.Connect, nonce string) (how method, reason string, e *protocol.Error) {
	h := c.hub
	switch {
	case said.Device != nil:
	case said.Client.IsControlUI():
		return "", RefusedDevice, protocol.ControlUIDeviceRequired()
	case said.Role == protocol.RoleNode, d.Mode != ModeNone && !showsSecret(&said.Auth):
		return "", RefusedDevice, protocol.DeviceRequired()
	}
	isLimited := d.Mode != ModeNone && !isProgramOfThisMachine(c.ip, c.origin, c.passed)
	if isLimited {
		if wait := h.failures.locked(c.ip); wait > 0 {
			return "", RefusedTooOften, protocol.Unauthorized(protocol.RateLimited, said, wait)
		}
	}
	if said.Device != nil {
		if e := said.Device.Verify(said, nonce, h.opts.Now()); e != nil {
			return "", RefusedDevice, e
		}
	}
	how, why := d.opens(said)
	switch {
	case how == "":
		if isLimited && showsSecret(&said.Auth) {
			h.failures.note(c.ip)
		}
		return "", RefusedAuth, protocol.Unauthorized(why, said, 0)
	case isLimited && how != byDeviceToken:
		h.failures.forgive(c.ip)
	}
	return how, "", nil
}
