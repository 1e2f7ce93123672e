package discordtest

import (
	"slices"
)

// event is what bots are told. Channel nil: the function that words it decides who is told.
type event struct {
	kind    string
	intents int // one of them is needed; 0: none is
	channel *channel
}

// publish tells every session that may know, each in its own words; nil is nothing. The lock is held.
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

// DispatchMatch says which dispatches a fault is for. What is empty matches all.
type DispatchMatch struct {
	Bot     string // id
	Type    string // e.g. "MESSAGE_CREATE"
	Channel string // where it happened
	Test    func(Dispatch) bool
}

func (m DispatchMatch) matches(d Dispatch, channelID string) bool {
	return (m.Bot == "" || m.Bot == d.Bot) && (m.Type == "" || m.Type == d.Type) && (m.Channel == "" || m.Channel == channelID) &&
		(m.Test == nil || m.Test(d))
}

// DispatchEffect is what happens to a dispatch.
type DispatchEffect int

// Effects on dispatches.
const (
	Drop      DispatchEffect = iota // it is never told, not even when the session is resumed
	Duplicate                       // it is told twice, with two sequence numbers
	Postpone                        // it is told after the next one of its session; see Bot.Flush
	CutBefore                       // the socket is cut in its stead; who resumes is told
	CutAfter                        // the socket is cut right after it was written
)

// DispatchFault happens to matching dispatches. READY and RESUMED are left alone.
type DispatchFault struct {
	Match  DispatchMatch
	After  int // so many matching dispatches pass before
	Times  int // 0: once; below 0: always
	Effect DispatchEffect
}

// InjectedDispatch is a fault that is waiting for its dispatches.
type InjectedDispatch struct {
	s     *Server
	fault DispatchFault
	seen  int
	hits  int
}

// InjectDispatch adds a fault. Of several that match a dispatch, the one that was added first and is not used up happens to it.
func (s *Server) InjectDispatch(f DispatchFault) *InjectedDispatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &InjectedDispatch{s: s, fault: f}
	s.dispatches = append(s.dispatches, i)
	return i
}

// Hits is to how many dispatches the fault has happened.
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

// dispatch gives a session an event, as far as faults let it.
func (s *Server) dispatch(g *gatewaySession, e event, data any) {
	entry := &entry{Dispatch: Dispatch{Bot: g.bot.ID, Session: g.id, Type: e.kind, Data: encode(data)}}
	channelID := ""
	if e.channel != nil {
		channelID = e.channel.ID
	}
	for _, i := range s.dispatches {
		if !i.fault.Match.matches(entry.Dispatch, channelID) || !due(&i.seen, &i.hits, i.fault.After, i.fault.Times) {
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
