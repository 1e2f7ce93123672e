package gateway

import (
	"net/http"
	"path"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/page"
)

// newPage gives what answers a GET of a path; nil where no page is served.
func (s *Server) newPage() func(path string) http.Handler {
	if s.opts.Page == nil {
		return nil
	}
	return func(path string) http.Handler { return s.opts.Page.Handler(path, pageTeller{s}) }
}

// pageTeller tells the page about agents, before anybody is let in: their names and pictures, as they are on Discord too.
type pageTeller struct{ server *Server }

// Identity implements page.Teller.
func (t pageTeller) Identity() page.Identity {
	c := t.server.opts.Configuration.InForce()
	who := t.server.identityOf(c, c.DefaultAgentID())
	return page.Identity{AgentID: who.AgentID, Name: who.Name, Avatar: who.Avatar}
}

// Version implements page.Teller.
func (t pageTeller) Version() string { return t.server.opts.Version }

// Picture implements page.Teller.
func (t pageTeller) Picture(agentID string) (p page.Picture) {
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
			"mend", "put a picture there, no link and not too large, or take identity.avatar away")
		return p
	}
	return page.Picture{Type: kind, Data: data}
}

// pictureType is the type of a picture by its name, "" where it is none that is shown.
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

// pictureAt is where the page finds the picture that lies in an agent's workspace; "" where there is none, or no page.
func (s *Server) pictureAt(c *config.Config, agentID string) string {
	agent := c.AgentNamed(agentID)
	if s.opts.Page == nil || agent == nil || isAddress(agent.Identity.Avatar) || pictureType(agent.Identity.Avatar) == "" {
		return ""
	}
	return s.opts.Page.AvatarPath(strings.ToLower(agent.ID))
}
