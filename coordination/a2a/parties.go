package a2a

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// party is one of the two agents of a flow.
type party struct{ agent, name, session string }

func (f *Flow) requester() party { return party{f.FromAgent, f.FromName, f.RequesterSessionKey} }
func (f *Flow) target() party    { return party{f.ToAgent, f.ToName, f.TargetSessionKey} }

// at returns who answers in a turn, and who receives the answer. The answer before all turns is the target's.
func (f *Flow) at(turn int) (speaker, listener party) {
	if turn%2 == 1 {
		return f.requester(), f.target()
	}
	return f.target(), f.requester()
}

// turns is the maximum number of turns of ping-pong: none for an agent that writes to itself.
func (f *Flow) turns() int {
	if Kind(f.Kind) != Send || f.RequesterSessionKey == "" || f.RequesterSessionKey == f.TargetSessionKey {
		return 0
	}
	return f.EffectiveTurns
}

// taken is how many turns were taken so far.
func (f *Flow) taken() int {
	if f.Phase == Turn {
		return max(f.Turn-1, 0)
	}
	return f.Turn
}

// waitMs is how long a flow waits for the first answer from the beginning of its run.
func (f *Flow) waitMs() int64 {
	if f.WaitMs > 0 {
		return f.WaitMs
	}
	return WaitMs
}

func (f *Flow) queueMs() int64 {
	if f.QueueTimeoutMs > 0 {
		return f.QueueTimeoutMs
	}
	return QueueMs
}

// context is the context of an event between two agents.
func (f *Flow) context(from, to party) coordination.Context {
	c := f.Context
	if f.RequesterRunID != "" {
		c.ParentRunID = f.RequesterRunID
	}
	c.FromSessionType, c.ToSessionType = sessionType(from.session), sessionType(to.session)
	c.EventRole = coordination.RoleConversation
	if c.FromSessionType == coordination.SessionSubagent || c.ToSessionType == coordination.SessionSubagent {
		c.EventRole = coordination.RoleDelegation
	}
	return c
}

// contextAs returns the context of an event from the requester to the target for other readers.
func (f *Flow) contextAs(role coordination.Role) coordination.Context {
	c := f.context(f.requester(), f.target())
	c.EventRole = role
	return c
}

// contextOf is the context that one party's run passes on to what it sends.
func (f *Flow) contextOf(speaker, listener party) coordination.Context {
	c := f.context(listener, speaker)
	depth := 0
	if c.Depth != nil {
		depth = *c.Depth
	}
	switch {
	case Kind(f.Kind) == Spawn && speaker.session == f.RequesterSessionKey:
		depth-- // of the child's
	case sessionType(speaker.session) == coordination.SessionSubagent:
		depth = max(depth, 1)
	}
	if c.Depth = nil; depth > 0 {
		c.Depth = &depth
	}
	return c
}

func sessionType(key string) coordination.SessionType {
	if strings.Contains(key, ":subagent:") {
		return coordination.SessionSubagent
	}
	return coordination.SessionMain
}
