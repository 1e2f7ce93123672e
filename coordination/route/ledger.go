package route

import (
	"cmp"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Ledger keeps the newest decisions by message id. Apply folds it. Older ones are in the log.
type Ledger struct {
	limit int
	byID  map[string]*Decision
	order []string // oldest first
}

// NewLedger returns a Ledger of limit messages, at least one.
func NewLedger(limit int) *Ledger {
	return &Ledger{limit: max(1, limit), byID: map[string]*Decision{}}
}

// Earlier returns the decision about a message, nil if not kept. Its verdicts have agent, mode, reason and order only.
func (l *Ledger) Earlier(messageID string) *Decision { return l.byID[messageID] }

// Apply folds an event and reports whether its type has a meaning here. An event that cannot be read is an error and changes nothing;
// redacted data (nil) means nothing.
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
	l.add(&d, agents, ts)
	return true, nil
}

func (l *Ledger) add(d *coordination.DiscordInbound, agents []string, ts int64) {
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
