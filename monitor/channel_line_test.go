package monitor_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/monitor"
)

// The line of a channel says of bots what its source knows, and of everything else only what people should look at.
func TestChannelLine(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		source string
		state  health.ChannelState
	}{
		"0 requests without an answer":                       {"server", health.ChannelState{}},
		"2 of 3 bots connected, 1 request without an answer": {"server", health.ChannelState{Bots: 3, BotsReady: 2, OpenCollaborations: 1}},
		"3 bots configured, 0 requests without an answer":    {"file", health.ChannelState{Bots: 3}},
		"1 of 1 bot connected, 0 requests without an answer, 2 posts undelivered (openclawd work --dead)": {"server",
			health.ChannelState{Bots: 1, BotsReady: 1, Undelivered: 2}},
		"0 requests without an answer, 1 escalated (openclawd collaborations --status escalated), 1 place suspended (openclawd channels threads --all), " +
			"1 post undelivered (openclawd work --dead)": {"file", health.ChannelState{Escalated: 1, Suspended: 1, Undelivered: 1}},
	} {
		if got := monitor.ChannelLine(c.state, c.source == "server"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
