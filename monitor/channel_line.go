package monitor

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/output"
)

// CountConfigured counts the bots that a configuration connects, where no server says which are.
func (s *Status) CountConfigured(c *config.Config) {
	for name, state := range s.Channels {
		state.Bots = c.Channel(name).Connects()
		s.Channels[name] = state
	}
	s.Discord = s.Channels[coordination.Discord]
}

// ChannelRows are names and lines of Discord, and of other channels of which there is something to say.
func (s *Status) ChannelRows(live bool) (rows [][]string) {
	for _, c := range coordination.Channels() {
		state := s.Channels[c.Name]
		if c.Name == coordination.Discord {
			state = s.Discord // an older server says no more
		} else if state == (health.ChannelState{}) {
			continue
		}
		rows = append(rows, []string{c.Name, ChannelLine(state, live)})
	}
	return rows
}

// ChannelLine is one line about the bots in a channel, and what needs attention there. live says that the server was
// asked, which knows whether bots are connected.
func ChannelLine(d health.ChannelState, live bool) string {
	var parts []string
	switch {
	case d.Bots == 0:
	case live:
		parts = append(parts, fmt.Sprintf("%d of %s connected", d.BotsReady, output.Count(int64(d.Bots), "bot")))
	default:
		parts = append(parts, output.Count(int64(d.Bots), "bot")+" configured")
	}
	parts = append(parts, output.Count(int64(d.OpenCollaborations), "request")+" without an answer")
	if d.Escalated > 0 {
		parts = append(parts, output.Thousands(int64(d.Escalated))+" escalated (openclawd collaborations --status escalated)")
	}
	if d.Suspended > 0 {
		parts = append(parts, output.Count(int64(d.Suspended), "place")+" suspended (openclawd channels threads --all)")
	}
	if d.Undelivered > 0 {
		parts = append(parts, output.Count(int64(d.Undelivered), "post")+" undelivered (openclawd work --dead)")
	}
	return strings.Join(parts, ", ")
}
