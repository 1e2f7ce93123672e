package inbound

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections/responses"
)

// threadConversation is the conversation of agents in a thread, according to its newest request or the one that the message is.
type threadConversation struct {
	id                string // of the request
	context           coordination.Context
	requester, target string
}

func threadConversationOf(r *responses.Row) threadConversation {
	return threadConversation{r.ID, r.Context, r.FromAgent, r.TargetAgent}
}

// answers is the agent addressed in it; "" for all others.
func (t *threadConversation) answers(author string) string {
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

// maxSaid is how many characters of a message the conversation stores.
const maxSaid = 4_000

// decisionEvents returns a decision's events, and in a thread where agents ask each other the message as part of the readable
// conversation. Notices of openclawd are not part of it.
func (h *intake) decisionEvents(d *route.Decision, m *route.Message) []route.Event {
	events := d.Events()
	t := &h.conversation
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
