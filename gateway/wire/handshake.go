package wire

import (
	"errors"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// challenge is the nonce and time a client has to sign.
type challenge struct {
	Nonce string `json:"nonce"`
	TS    int64  `json:"ts"`
}

type refusal struct {
	reason string          // one of the Refused constants
	id     string          // id of the request
	err    *protocol.Error // nil: no answer is sent
	bid    closeFrame
}

// shakeHands accepts a client, or rejects it with a reason. An error means that the connection is over.
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
		return c.reject(&refusal{reason: RefusedFrame, bid: closeFrame{codeInvalidText, "invalid UTF-8"}})
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
		return c.reject(no)
	}
	h.admit(c, peer, hello)
	return nil
}

// reject sends the rejection and waits until the client is gone.
func (c *client) reject(no *refusal) error {
	c.hub.stats.refuse(no.reason)
	if no.err != nil {
		c.logger().Info("client rejected", "reason", no.reason, "code", no.err.Code, "message", no.err.Message)
		c.fail(no.id, no.err, nil)
		no.bid.reason = no.err.Message
	}
	no.bid.reason = protocol.CloseReason(no.bid.reason)
	c.finish(no.bid, true)
	return c.linger()
}

// linger waits until a client has closed after a close frame.
func (c *client) linger() error {
	for {
		if _, err := c.socket.read(); err != nil && !errors.Is(err, errNotText) {
			return err
		}
	}
}

func (c *client) judge(text []byte, nonce string) (*Peer, []byte, *refusal) {
	r, err := protocol.ParseRequest(text)
	switch {
	case errors.Is(err, protocol.ErrNotJSON):
		return nil, nil, &refusal{reason: RefusedFrame, bid: closeFrame{codeNormal, "invalid request frame"}}
	case err != nil:
		return nil, nil, &refusal{reason: RefusedFrame, bid: closeFrame{codePolicy, "invalid request frame"}}
	}
	no := func(reason string, code int, e *protocol.Error) (*Peer, []byte, *refusal) {
		return nil, nil, &refusal{reason, r.ID, e, closeFrame{code: code}}
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
	if !c.hasAllowedOrigin(door, said) {
		return no(RefusedOrigin, codePolicy, protocol.OriginRefused())
	}
	how, reason, e := c.identify(door, said, nonce)
	if e != nil {
		return no(reason, codePolicy, e)
	}
	if said.Role != protocol.RoleOperator && said.Role != protocol.RoleWorker {
		return no(RefusedRole, codePolicy, &protocol.Error{Code: protocol.CodeInvalidRequest,
			Message: "role " + said.Role + " is not served by this gateway"})
	}
	p := &Peer{ConnID: c.id, Protocol: version, Client: said.Client, Role: said.Role, Scopes: said.Scopes, Caps: said.Caps,
		IP: c.ip.String(), Origin: c.origin}
	if said.Role == protocol.RoleWorker {
		p.Scopes = nil // its role is all it has
	} else if said.Device != nil {
		p.DeviceID = said.Device.ID
	}
	hello, err := c.hub.greeting.to(c, p, door, how)
	if err != nil {
		c.logger().Error("cannot build hello-ok", "err", err)
		return no(RefusedFailure, codeInternal, &protocol.Error{Code: protocol.CodeUnavailable, Retryable: true,
			Message: "the gateway's state is unavailable"})
	}
	text, err = protocol.Response(r.ID, hello)
	if err != nil {
		c.logger().Error("cannot build hello-ok", "err", err)
		return no(RefusedFailure, codeInternal, &protocol.Error{Code: protocol.CodeUnavailable, Message: "internal error"})
	}
	return p, text, nil
}

// hasAllowedOrigin reports whether the request comes from no page or an allowed one. Clients that are pages must
// send an origin.
func (c *client) hasAllowedOrigin(d *activeAccess, said *protocol.Connect) bool {
	if c.origin == "" {
		return !said.Client.IsControlUI() && !said.Client.IsWebchat()
	}
	return d.shares(c.origin, c.host)
}

func (c *client) identify(d *activeAccess, said *protocol.Connect, nonce string) (how method, reason string, e *protocol.Error) {
	h := c.hub
	switch {
	case said.Device != nil, said.Role == protocol.RoleWorker:
	case said.Client.IsControlUI():
		return "", RefusedDevice, protocol.ControlUIDeviceRequired()
	case said.Role == protocol.RoleNode, d.Mode != ModeNone && !showsSecret(&said.Auth):
		return "", RefusedDevice, protocol.DeviceRequired()
	}
	isLimited := (d.Mode != ModeNone || said.Role == protocol.RoleWorker) && !isProgramOfThisMachine(c.ip, c.origin, c.passed)
	if isLimited {
		if wait := h.failures.Locked(c.ip); wait > 0 {
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
			h.failures.Count(c.ip)
		}
		return "", RefusedAuth, protocol.Unauthorized(why, said, 0)
	case isLimited && how != byDeviceToken:
		h.failures.Forgive(c.ip)
	}
	return how, "", nil
}
