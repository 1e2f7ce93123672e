package inbound

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	responses "github.com/pronto-lab/openclawd/projections/response"
)

// talk is what agents ask each other in a thread, as the newest request there says, or the one that the message is.
type talk struct {
	id                string // of the request
	context           coordination.Context
	requester, target string
}

func talkOf(r *responses.Row) talk { return talk{r.ID, r.Context, r.FromAgent, r.TargetAgent} }

// answers is to whom an agent speaks in it; "" for everybody else.
func (t *talk) answers(author string) string {
	switch author {
	case "":
		return ""
	case t.target:
		return t.requester
	case t.requester:
		return t.target
	}
	return ""
}

// maxSaid is how many characters of a message the conversation keeps.
const maxSaid = 4_000

// told are the events of a decision, and what is said in a thread in which agents ask each other as a part of the conversation that people read. What
// openclawd says by itself is no part of it.
func (h *hearing) told(d *route.Decision, m *route.Message) []route.Event {
	events := d.Events()
	t := &h.talk
	i := slices.IndexFunc(events, func(e route.Event) bool {
		return e.Type == coordination.TypeDiscordInboundHandled || e.Type == coordination.TypeDiscordInboundObserved
	})
	if i < 0 || t.context.WorkSessionID == "" || m.ThreadID == "" || m.System || m.Rest || m.Notice {
		return events
	}
	heard := events[i].Data.(coordination.DiscordInbound)
	said := coordination.CollabMessage{Context: coordination.Context{WorkSessionID: t.context.WorkSessionID, TaskID: t.context.TaskID,
		EventRole: coordination.RoleConversation}, ThreadID: m.ThreadID, ChannelID: m.ChannelID, MessageID: m.ID, CollabID: t.id,
		FromAgent: cmp.Or(d.Author, heard.AuthorName), ToAgent: t.answers(d.Author), Message: heard.Summary}
	if events[i].Type == coordination.TypeDiscordInboundHandled {
		said.Message = coordination.Head(coordination.Mask(h.o.Bots.Resolve(m.Text)), maxSaid)
	}
	return append(events, route.Event{Type: coordination.TypeCollabMessage, AgentID: d.Author, At: m.At, Data: said})
}
