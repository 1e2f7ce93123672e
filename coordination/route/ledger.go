package route

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Ledger is what has been decided, by message id. Apply folds it. It remembers the newest messages, as many as it was made for; what is older is
// for whoever reads the log.
type Ledger struct {
	limit int
	byID  map[string]*Decision
	order []string // of the ids, the oldest first
}

// NewLedger is one that remembers so many messages, at least one.
func NewLedger(limit int) *Ledger {
	return &Ledger{limit: max(1, limit), byID: map[string]*Decision{}}
}

// Earlier is what was decided about a message; nil if that is not remembered. Of its verdicts it knows who, which mode, reason and order.
func (l *Ledger) Earlier(messageID string) *Decision { return l.byID[messageID] }

// Apply folds an event. It reports whether the event means anything here. An event that cannot be read is an error and changes nothing; one that is
// redacted (data nil) means nothing.
func (l *Ledger) Apply(typ, agent string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeDiscordInboundHandled, coordination.TypeDiscordInboundObserved, coordination.TypeDiscordInboundDropped:
	default:
		return false, nil
	}
	d, err := read[coordination.DiscordInbound](typ, data)
	if err != nil || d.MessageID == "" {
		return false, err
	}
	agents := d.Agents
	if len(agents) == 0 && agent != "" {
		agents = []string{agent}
	}
	l.note(&d, agents, ts)
	return true, nil
}

func (l *Ledger) note(d *coordination.DiscordInbound, agents []string, ts int64) {
	next := Decision{Mentioned: d.MentionedAgents, Author: d.AuthorAgent, at: Message{ID: d.MessageID, GuildID: d.GuildID, ChannelID: d.ChannelID,
		ThreadID: d.ThreadID, Author: Author{ID: d.AuthorID, Name: d.AuthorName}, System: d.System, At: ts}}
	if known := l.byID[d.MessageID]; known != nil {
		next.Verdicts = slices.Clone(known.Verdicts)
	} else if l.order = append(l.order, d.MessageID); len(l.order) > l.limit {
		delete(l.byID, l.order[0])
		l.order = l.order[1:]
	}
	for _, agent := range agents {
		if _, decided := next.Of(agent); !decided {
			next.Verdicts = append(next.Verdicts, Verdict{
				Agent: agent, AccountID: d.AccountID, Mode: Mode(d.Decision), Reason: Reason(d.Reason), Order: Order(d.Order),
			})
		}
	}
	slices.SortFunc(next.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Agent, b.Agent) })
	l.byID[d.MessageID] = &next
}
