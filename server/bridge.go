package server

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/ui"
)

// Methods of the gateway that Task-Hub's chat needs, by the role that they need.
var (
	chatReads  = []string{"chat.history", "commands.list", "sessions.list"}
	chatWrites = []string{"chat.send", "chat.abort"}
)

// maxChatFrame is the size limit of what a page sends to the gateway at once.
const maxChatFrame = 256 << 10

// uiGateway has the gateway serve the chat of Task-Hub's pages; nil if none runs here.
func (p *Program) uiGateway() http.Handler {
	if p.follows() && p.node.gateway != nil {
		return http.HandlerFunc(p.passPage)
	}
	if p.gateway == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.admitPage(w, r, ui.SessionOf(r.Context())) })
}

// admitPage has the gateway serve the chat of a page with what its session permits.
func (p *Program) admitPage(w http.ResponseWriter, r *http.Request, who ui.Session) {
	guest := wire.Guest{
		Client: protocol.Client{ID: "webchat-ui", DisplayName: cmp.Or(who.By, "Task-Hub"), Version: cmp.Or(buildinfo.Read().Version, "dev"),
			Platform: "web", Mode: "webchat"},
		Scopes: []string{protocol.ScopeRead}, Caps: []string{"tool-events"}, Methods: chatReads, FrameBytes: maxChatFrame,
	}
	if who.Role >= ui.Operate {
		guest.Scopes = append(guest.Scopes, protocol.ScopeWrite)
		guest.Methods = slices.Concat(chatReads, chatWrites)
	}
	p.gateway.server.Admit(w, r, guest)
}
