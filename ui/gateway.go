package ui

import (
	"net/http"
	"strings"
)

// serveGateway passes a WebSocket on to the gateway of this process. What the connection may do follows from the session's role, and it is
// closed when that becomes less. The gateway's secret is not needed, and so is known to no browser.
func (s *Site) serveGateway(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodGet) {
		return
	}
	if refused := checkSocket(r); refused != nil {
		refuse(w, refused)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		refuse(w, &problem{Status: http.StatusUpgradeRequired, Code: "upgrade_required", Message: "Connect with a WebSocket", Field: "Upgrade"})
		return
	}
	now := s.sessionOf(r)
	if now.role < Read {
		refuse(w, needs(now, Read))
		return
	}
	if s.opts.Gateway == nil {
		hint := "start openclawd serve with --gateway 127.0.0.1:18789"
		if s.opts.Mode == "follow" {
			hint = "with --follow the agents are another gateway's: talk to them there"
		}
		refuse(w, &problem{Status: http.StatusNotFound, Code: "not_here", Message: "No gateway runs here", Hint: hint})
		return
	}
	s.serveOpen(w, r, now, min(now.role, Operate), s.opts.Gateway)
}
