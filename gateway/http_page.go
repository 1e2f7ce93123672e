package gateway

import (
	"net/http"
	"path"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/page"
)

// newPage returns the handler lookup for GET requests; nil if no page is served.
func (s *Server) newPage() func(path string) http.Handler {
	if s.opts.Page == nil {
		return nil
	}
	return func(path string) http.Handler { return s.opts.Page.Handler(path, pageInfo{s}) }
}

// pageInfo gives the page agents' names and pictures before authentication; they are public on Discord too.
type pageInfo struct{ server *Server }

// Identity implements page.Info.
func (t pageInfo) Identity() page.Identity {
	c := t.server.opts.Configuration.InForce()
	who := t.server.identityOf(c, c.DefaultAgentID())
	return page.Identity{AgentID: who.AgentID, Name: who.Name, Avatar: who.Avatar}
}

// Version implements page.Info.
func (t pageInfo) Version() string { return t.server.opts.Version }

// Picture implements page.Info.
func (t pageInfo) Picture(agentID string) (p page.Picture) {
	agent := t.server.opts.Configuration.InForce().AgentNamed(strings.ToLower(agentID))
	if agent == nil {
		return p
	}
	avatar := agent.Identity.Avatar
	if isAddress(avatar) {
		return page.Picture{Address: avatar}
	}
	kind := pictureType(avatar)
	if kind == "" || t.server.opts.Files == nil {
		return p
	}
	data, err := t.server.opts.Files.Picture(strings.ToLower(agent.ID), avatar)
	if err != nil {
		t.server.opts.Logger.Warn("the picture of an agent cannot be read", "agent", agent.ID, "file", avatar, "err", err,
			"hint", "use a regular image file there, not a link and not too large, or remove identity.avatar")
		return p
	}
	return page.Picture{Type: kind, Data: data}
}

// pictureType returns the media type for a picture's file name, "" if unsupported.
func pictureType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

// pictureAt returns the URL at which the page finds a picture in an agent's workspace; "" if there is none, or no
// page.
func (s *Server) pictureAt(c *config.Config, agentID string) string {
	agent := c.AgentNamed(agentID)
	if s.opts.Page == nil || agent == nil || isAddress(agent.Identity.Avatar) || pictureType(agent.Identity.Avatar) == "" {
		return ""
	}
	return s.opts.Page.AvatarPath(strings.ToLower(agent.ID))
}
