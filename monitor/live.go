package monitor

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/monitor/push"
)

// livePath is the only WebSocket path.
const livePath = "/ws"

func newHub(opts Options) *push.Hub {
	o := opts.Push
	o.Now, o.Logger, o.Version = opts.Now, opts.Logger, opts.Version
	return push.New(newFeed(opts), o)
}

// Publish sends a message to all clients of /ws. It never blocks and may be called at any time, even before Run.
func (s *Server) Publish(m push.Message) { s.hub.Publish(m) }

// PushStats returns statistics of the clients of /ws.
func (s *Server) PushStats() push.Stats { return s.hub.Stats() }

// live upgrades a request to a WebSocket. Other requests get 404, as in the original.
func (s *Server) live(c echo.Context) error {
	r := c.Request()
	if !push.Asked(r) {
		return notFound("Not found")
	}
	if err := s.admitOrigin(r); err != nil {
		return err
	}
	order, err := s.orderOf(c)
	if err != nil {
		return err
	}
	err = s.hub.Accept(c.Response(), r, order)
	var refused *push.HandshakeError
	switch {
	case errors.As(err, &refused):
		return &problem{Status: refused.Status, Code: "bad_handshake", Message: refused.Error(),
			Hint: "connect with a WebSocket client, version 13 of the protocol"}
	case errors.Is(err, push.ErrFull):
		return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Message: "Too many clients are connected", RetryAfter: 5}
	case errors.Is(err, push.ErrIdle):
		return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Message: "The server is still starting", RetryAfter: 1}
	case errors.Is(err, push.ErrClosed):
		return &problem{Status: http.StatusServiceUnavailable, Code: "closed", Message: "The server is shutting down", RetryAfter: 1}
	}
	return err
}

// admitOrigin refuses foreign pages. Browsers let every page open WebSockets anywhere, without preflight.
func (s *Server) admitOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	_, granted := grantOf(r.Context())
	if granted || origin == "" || s.shares(origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return &problem{Status: http.StatusForbidden, Code: "origin_refused", Field: "Origin",
		Message: fmt.Sprintf("Pages of %.80q may not connect", origin), Hint: "add the page's origin, or its host, to the allowed ones"}
}

func (s *Server) orderOf(c echo.Context) (push.Order, error) {
	p := parametersOf(c)
	_, granted := grantOf(c.Request().Context())
	order := push.Order{Granted: granted, View: push.View{Full: p.internal(), Topics: p.topics(), Slim: p.choice("fields", "all", "slim") == "slim"}}
	if order.Slim && order.Topics == 0 {
		p.refuse("fields", "slim", "give topics too")
	}
	text := p.first("since")
	if text == "" {
		return order, p.err
	}
	since := p.integer("since", 0, 0, math.MaxInt64)
	if p.err != nil {
		return order, p.err
	}
	head, err := s.opts.Store.Head(c.Request().Context())
	if err != nil {
		return order, err
	}
	if since > head.Seq {
		p.refuse("since", text, fmt.Sprintf("give the seq of an event; the log ends at %d", head.Seq))
	}
	order.Since = &since
	return order, p.err
}

// topics reads what frames a client wants; 0 if it does not say.
func (p *parameters) topics() (all push.Topic) {
	topics := map[string]push.Topic{"log": push.Events, "hints": push.Hints, "ticks": push.Ticks}
	for _, word := range p.words("topics", "log", "hints", "ticks") {
		all |= topics[word]
	}
	return all
}

// onlyLive refuses WebSocket upgrades on other paths, with the original's status.
func onlyLive(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); push.Asked(r) && r.URL.EscapedPath() != livePath {
			return &problem{Status: http.StatusBadRequest, Code: "bad_handshake", Message: "Nothing to connect to here", Hint: "connect to " + livePath}
		}
		return next(c)
	}
}
