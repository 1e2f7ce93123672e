package discordtest

import (
	"slices"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// event is an event for bots. Channel nil: the rendering function decides who receives it.
type event struct {
	kind    string
	intents int // one of them is required; 0: none
	channel *channel
}

// publish sends an event to every session that may receive it, rendered for each; nil skips it. The lock is held.
func (s *Server) publish(e event, words func(to *gatewaySession) any) {
	for _, g := range slices.Clone(s.sessions) {
		if e.intents != 0 && g.intents&e.intents == 0 || e.channel != nil && !s.may(g.bot, e.channel).has(ViewChannel) {
			continue
		}
		if data := words(g); data != nil {
			s.dispatch(g, e, data)
		}
	}
}

// DispatchMatch selects the dispatches of a fault. Empty fields match all.
type DispatchMatch struct {
	Bot     string // id
	Type    string // e.g. "MESSAGE_CREATE"
	Channel string // channel of the event
	Test    func(Dispatch) bool
}

func (m DispatchMatch) matches(d Dispatch, channelID string) bool {
	return (m.Bot == "" || m.Bot == d.Bot) && (m.Type == "" || m.Type == d.Type) && (m.Channel == "" || m.Channel == channelID) &&
		(m.Test == nil || m.Test(d))
}

// DispatchEffect is what a fault does to a dispatch.
type DispatchEffect int

// Effects on dispatches.
const (
	Drop      DispatchEffect = iota // never sent, not even on resume
	Duplicate                       // sent twice, with two sequence numbers
	Postpone                        // sent after the next one of its session; see Bot.Flush
	CutBefore                       // the socket is cut instead; a resume delivers it
	CutAfter                        // the socket is cut right after it is written
)

// DispatchFault affects matching dispatches. READY and RESUMED are never affected.
type DispatchFault struct {
	Match  DispatchMatch
	After  int // matching dispatches to skip first
	Times  int // 0: once; negative: always
	Effect DispatchEffect
}

// InjectedDispatch is an active fault.
type InjectedDispatch struct {
	s     *Server
	fault DispatchFault
	seen  int
	hits  int
}

// InjectDispatch adds a fault. Of several that match, the oldest unused one applies.
func (s *Server) InjectDispatch(f DispatchFault) *InjectedDispatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &InjectedDispatch{s: s, fault: f}
	s.dispatches = append(s.dispatches, i)
	return i
}

// Hits is the number of dispatches affected.
func (i *InjectedDispatch) Hits() int {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return i.hits
}

// Remove ends the fault.
func (i *InjectedDispatch) Remove() {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	i.s.dispatches = slices.DeleteFunc(i.s.dispatches, func(other *InjectedDispatch) bool { return other == i })
}

// dispatch appends an event to a session, subject to faults.
func (s *Server) dispatch(g *gatewaySession, e event, data any) {
	entry := &entry{Dispatch: Dispatch{Bot: g.bot.ID, Session: g.id, Type: e.kind, Data: encode(data)}}
	channelID := ""
	if e.channel != nil {
		channelID = e.channel.ID
	}
	for _, i := range s.dispatches {
		if !i.fault.Match.matches(entry.Dispatch, channelID) || !faults.Due(&i.seen, &i.hits, i.fault.After, i.fault.Times) {
			continue
		}
		switch i.fault.Effect {
		case Drop:
			return
		case Duplicate:
			twin := *entry
			g.append(entry)
			g.append(&twin)
			g.flush()
			return
		case Postpone:
			g.postponed = append(g.postponed, entry)
			return
		case CutBefore:
			entry.cutBefore = true
		case CutAfter:
			entry.cutAfter = true
		}
		break
	}
	g.append(entry)
	g.flush()
}
