package collaborate

import (
	"fmt"
	"slices"
)

// spot is the place for a request. Without a channel none is known.
type spot struct {
	channel Place // the parent, of a thread
	thread  Place // "" for any thread of the channel
	shared  bool  // both are in the thread already
	named   bool  // the request names the channel
}

// spot finds the thread or channel, and checks that it is allowed.
func (s *Situation) spot(r *Request, target Agent) (spot, *Refusal) {
	if r.ThreadID != "" {
		return s.namedThread(r, target)
	}
	if t, ok := s.sharedThread(target); ok {
		at := spot{channel: s.parent(t), thread: t, shared: true}
		return at, s.allowed(at.channel, "threadId", t.ID)
	}
	if r.ChannelID != "" {
		return s.namedChannel(r)
	}
	if c, ok := s.sessionChannel(); ok {
		return spot{channel: c}, s.allowed(c, "channelId", c.ID)
	}
	if s.Policy.DefaultChannel == "" {
		return spot{}, nil
	}
	c, ok := s.place(s.Policy.DefaultChannel)
	if !ok || c.Kind != Text && c.Kind != Forum {
		return spot{}, &Refusal{Reason: CodeNotFound, Field: "channelId", Value: s.Policy.DefaultChannel,
			Text: fmt.Sprintf("channels.%s.collaboration.defaultChannel %s: not a channel in which threads can be opened", s.traits().Name,
				s.Policy.DefaultChannel),
			HintText: "correct this setting, or name a channelId"}
	}
	return spot{channel: c}, s.allowed(c, "channelId", c.ID)
}

func (s *Situation) namedThread(r *Request, target Agent) (spot, *Refusal) {
	t, ok := s.place(r.ThreadID)
	switch {
	case !ok:
		return spot{}, missing("threadId", r.ThreadID, "thread")
	case t.Kind != Thread:
		return spot{}, invalid("threadId", r.ThreadID, "is not a thread", "name it as channelId to open a thread there, or omit it")
	case r.ChannelID != "" && r.ChannelID != t.ParentID:
		return spot{}, invalid("channelId", r.ChannelID, fmt.Sprintf("is not the channel of thread %s", t.ID), "omit channelId")
	}
	at := spot{channel: s.parent(t), thread: t, shared: t.ID == s.Session.ChannelID && slices.Contains(s.Session.Together, target.ID)}
	if no := s.allowed(at.channel, "threadId", r.ThreadID); no != nil {
		return spot{}, no
	}
	if t.Locked {
		return spot{}, &Refusal{Reason: CodeLocked, Field: "threadId", Value: r.ThreadID,
			Text:     fmt.Sprintf("threadId %q: this thread is locked", r.ThreadID),
			HintText: "omit threadId to open a new thread"}
	}
	return at, nil
}

// sharedThread is the session's, if it is a thread with the target as a participant.
func (s *Situation) sharedThread(target Agent) (Place, bool) {
	t, ok := s.place(s.Session.ChannelID)
	return t, ok && t.Kind == Thread && !t.Locked && slices.Contains(s.Session.Together, target.ID)
}

func (s *Situation) namedChannel(r *Request) (spot, *Refusal) {
	c, ok := s.place(r.ChannelID)
	switch {
	case !ok:
		return spot{}, missing("channelId", r.ChannelID, "channel")
	case c.Kind == Thread:
		return spot{}, invalid("channelId", r.ChannelID, "is a thread", "name it as threadId")
	case c.Kind != Text && c.Kind != Forum:
		return spot{}, invalid("channelId", r.ChannelID, "is a channel without threads", "name a text channel")
	}
	return spot{channel: c, named: true}, s.allowed(c, "channelId", r.ChannelID)
}

// sessionChannel is where the agent itself was asked; outside of threads, and never in direct messages.
func (s *Situation) sessionChannel() (Place, bool) {
	c, ok := s.place(s.Session.ChannelID)
	if ok && c.Kind == Thread {
		c = s.parent(c)
	}
	return c, ok && (c.Kind == Text || c.Kind == Forum)
}

// parent is the channel of a thread; unknown properties of it are taken from the thread.
func (s *Situation) parent(t Place) Place {
	if c, ok := s.place(t.ParentID); ok {
		return c
	}
	return Place{ID: t.ParentID, Kind: Text, GuildID: t.GuildID}
}

// allowed returns why requests must not be posted in a channel, nil if they may. field and value are those that led
// there.
func (s *Situation) allowed(c Place, field, value string) *Refusal {
	p, name := &s.Policy, s.traits().Name
	switch {
	case c.ID == "" || c.ID != p.DefaultChannel && !slices.Contains(p.AllowedChannels, c.ID):
		return &Refusal{Reason: CodeChannel, Field: field, Value: value,
			Text:     fmt.Sprintf("%s %q: channel %s is not in channels.%s.collaboration.allowedChannels, and agents must not work together there", field, value, c.ID, name),
			HintText: fmt.Sprintf("add %q to channels.%s.collaboration.allowedChannels%s", c.ID, name, p.others())}
	case len(p.AllowedGuilds) > 0 && !slices.Contains(p.AllowedGuilds, c.GuildID):
		return &Refusal{Reason: CodeChannel, Field: field, Value: value,
			Text:     fmt.Sprintf("%s %q: guild %q of channel %s is not in channels.%s.collaboration.allowedGuilds, and agents must not work together there", field, value, c.GuildID, c.ID, name),
			HintText: fmt.Sprintf("add %q to channels.%s.collaboration.allowedGuilds%s", c.GuildID, name, p.others())}
	}
	return nil
}

// others is the rest of a hint: where posting is allowed.
func (p *Policy) others() string {
	if p.DefaultChannel == "" {
		return ""
	}
	return fmt.Sprintf(", or name channelId %q", p.DefaultChannel)
}

func missing(field, value, what string) *Refusal {
	return &Refusal{Reason: CodeNotFound, Field: field, Value: value,
		Text:     fmt.Sprintf("%s %q: this %s does not exist, or no bot sees it", field, value, what),
		HintText: "correct or omit it"}
}
