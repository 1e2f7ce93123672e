package route

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Event is an event to append. AgentID is "" where it concerns several agents.
type Event struct {
	Type    string
	AgentID string
	At      int64 // of the event, ms since 1970
	Data    any
}

// maxText limits the kept text of a handled message, in characters: Discord's limit.
const maxText = 4000

// maxName limits a kept name, in characters.
const maxName = 100

// Events are the events to append, in this order, for Attendance, Guard, History and Ledger to fold; none for a message decided before.
// An agent's own message is recorded for that agent only where no other agent sees it. A message that no bot of an agent sees is
// recorded, too.
func (d *Decision) Events() (events []Event) {
	if d.Again {
		return nil
	}
	m := &d.at
	for _, agent := range d.Lapsed {
		events = append(events, expired(m.ThreadID, agent, m.At))
	}
	if d.Release {
		events = append(events, Released(m.Place(), m.At))
	}
	if d.Suspend != nil {
		events = append(events, Event{Type: coordination.TypeThreadSuspended, At: m.At, Data: coordination.Thread{
			Context: ours(), ThreadID: d.Suspend.Place, ChannelID: m.ChannelID, Reason: string(d.Suspend.Reason), UntilMs: d.Suspend.Until,
		}})
	}
	inbound := d.inbound()
	if len(inbound) > 0 {
		first := inbound[0].Data.(coordination.DiscordInbound)
		first.Turn, first.Answers = string(d.Turn), d.Answers
		inbound[0].Data = first
	}
	events = append(events, inbound...)
	for _, e := range d.Enrol {
		events = append(events, registered(m.ThreadID, e, m.At))
	}
	return events
}

// inbound returns one event for each handler, then one for each reason of the other agents, in order of agent ids.
func (d *Decision) inbound() (events []Event) {
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Mode != Handler {
			continue
		}
		data := d.data(v)
		data.RunID = v.RunID
		data.Order, data.AccountID, data.Text = string(v.Order), v.AccountID, coordination.Head(coordination.Mask(d.at.Text), maxText)
		events = append(events, Event{coordination.TypeDiscordInboundHandled, v.Agent, d.at.At, data})
	}
	type group struct {
		mode   Mode
		reason Reason
	}
	alike := map[group]int{}
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Mode == Handler || v.Reason == OwnMessage && len(d.Verdicts) > 1 {
			continue
		}
		n, seen := alike[group{v.Mode, v.Reason}]
		if !seen {
			n = len(events)
			alike[group{v.Mode, v.Reason}] = n
			events = append(events, d.others(v))
		}
		data := events[n].Data.(coordination.DiscordInbound)
		data.Agents = append(data.Agents, v.Agent)
		events[n].Data = data
		if events[n].AgentID = v.Agent; len(data.Agents) > 1 {
			events[n].AgentID = ""
		}
	}
	if len(d.Verdicts) == 0 {
		events = append(events, d.others(&Verdict{Mode: Dropped, Reason: NoBot}))
	}
	return events
}

// Undecided returns the event of a message that could not be decided, and therefore reaches no agent.
func Undecided(m *Message) []Event {
	d := Decision{at: *m, sender: coordination.Head(cmp.Or(m.Author.Name, m.Author.ID), maxName)}
	return []Event{d.others(&Verdict{Mode: Dropped, Reason: InternalError})}
}

// others returns the event of agents that do not handle the message.
func (d *Decision) others(v *Verdict) Event {
	data := d.data(v)
	if v.Mode == Dropped {
		return Event{Type: coordination.TypeDiscordInboundDropped, At: d.at.At, Data: data}
	}
	r := &d.Record
	data.Summary, data.Mentions, data.URLs, data.PRs, data.CodeRefs = r.Summary, r.Tokens.Mentions, r.Tokens.URLs, r.Tokens.PRs, r.Tokens.CodeRefs
	return Event{Type: coordination.TypeDiscordInboundObserved, At: d.at.At, Data: data}
}

func (d *Decision) data(v *Verdict) coordination.DiscordInbound {
	m := &d.at
	return coordination.DiscordInbound{
		Context: ours(), Channel: coordination.OtherChannel(m.ChannelID), MessageID: m.ID, ChannelID: m.ChannelID, ThreadID: m.ThreadID, GuildID: m.GuildID, AuthorID: m.Author.ID, AuthorAgent: d.Author,
		AccountID: m.AccountID, AuthorName: d.sender, Decision: string(v.Mode), Reason: string(v.Reason), MentionedAgents: d.Mentioned, System: m.System, Hop: d.hop,
		CausedBy: m.CausedBy, CollabID: m.CollabID,
	}
}

func ours() coordination.Context {
	return coordination.Context{EventRole: coordination.RoleObservability}
}

// read decodes event data; redacted data (nil) decodes to the zero value.
func read[T any](typ string, data []byte) (d T, err error) {
	if len(data) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("read %s: %w", typ, err)
	}
	return d, nil
}
