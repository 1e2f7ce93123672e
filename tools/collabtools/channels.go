package collabtools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/tools"
)

// Channel is the part of a channel's bots that is used here.
type Channel interface {
	// Name is one of coordination.Channels.
	Name() string
	// Connected returns the connected bots and the agents that they speak for.
	Connected() []collaborate.Bot
	// Known returns a place or thread as the bots have received it, without a request.
	Known(id string) (collaborate.Place, bool)
	// Place fetches a place or thread as one of the bots; ok is false if the bot can see none.
	Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error)
}

// channel returns the bots of a channel, nil for none.
func (s *Service) channel(name string) Channel {
	for _, c := range s.o.Channels {
		if c.Name() == cmp.Or(name, coordination.Discord) {
			return c
		}
	}
	return nil
}

// origin is where a call comes from.
type origin struct {
	channel string // in which the session speaks; "" for none
	session collaborate.Session
}

// originOf returns the origin of a call. The key of a session in a channel names its place or thread; other sessions may have a place
// for their answers.
func originOf(call *tools.Call) (o origin) {
	o.session = collaborate.Session{Key: call.SessionKey, RunID: call.RunID, Hop: call.Hop}
	place := call.Session.Place()
	if place != "" && call.Session.Channel == coordination.Discord {
		place = cmp.Or(call.Session.Thread, place)
	}
	speaks, known := coordination.ChannelNamed(call.Channel)
	if known = known && call.Channel != ""; known && place == "" {
		o.channel = speaks.Name
		if place = call.ThreadID; place == "" {
			place, _ = strings.CutPrefix(call.To, "channel:")
			if place == call.To {
				place = ""
			}
		}
	}
	if place != "" {
		o.channel, o.session.ChannelID = coordination.ChannelOf(place), place
	}
	if known && speaks.Name == o.channel {
		o.session.AccountID = call.AccountID
	}
	return o
}

// in is the session as a decision about a request in a channel sees it.
func (o *origin) in(channel string) collaborate.Session {
	s := o.session
	if o.channel != channel {
		s.AccountID, s.ChannelID = "", ""
	}
	return s
}

// channelOf returns the channel in which a request is posted: that of the place it names, else the session's own, if both agents have
// bots and threads can be opened there; else the first one with a default channel in which both have bots.
func (s *Service) channelOf(conf *config.Config, o *origin, r *collaborate.Request) string {
	for _, id := range []string{r.ThreadID, r.ChannelID} {
		if id = coordination.TrimJS(id); id != "" {
			return coordination.ChannelOf(id)
		}
	}
	reaches := func(c Channel) bool { return s.situation(conf, c.Name(), o.in(c.Name())).Reaches(*r) }
	meets := func(c Channel) bool { return conf.Channel(c.Name()).Collaboration.DefaultChannel != "" }
	home := s.channel(o.channel)
	if home != nil && o.channel != "" && reaches(home) && (meets(home) || mayHaveThreads(home, o.session.ChannelID)) {
		return o.channel
	}
	for _, suits := range []func(Channel) bool{
		func(c Channel) bool { return reaches(c) && meets(c) },
		func(c Channel) bool { return c.Name() == o.channel && len(c.Connected()) > 0 },
		reaches,
		func(c Channel) bool { return len(c.Connected()) > 0 },
	} {
		if i := slices.IndexFunc(s.o.Channels, suits); i >= 0 {
			return s.o.Channels[i].Name()
		}
	}
	return coordination.Discord
}

// mayHaveThreads reports whether a place is not known to be without threads.
func mayHaveThreads(c Channel, place string) bool {
	if place == "" {
		return false
	}
	p, known := c.Known(place)
	return !known || p.Kind != collaborate.Direct && p.Kind != collaborate.Other
}

// titleOf is a channel's own spelling.
func titleOf(channel string) string {
	c, _ := coordination.ChannelNamed(channel)
	return c.Title
}
