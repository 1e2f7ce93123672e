package main

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/monitor"
)

// The line of Discord says of bots what its source knows, and of everything else only what people should look at.
func TestStatusLineOfDiscord(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		source string
		state  health.Discord
	}{
		"0 requests without an answer":                       {"server", health.Discord{}},
		"2 of 3 bots connected, 1 request without an answer": {"server", health.Discord{Bots: 3, BotsReady: 2, OpenCollaborations: 1}},
		"3 bots configured, 0 requests without an answer":    {"file", health.Discord{Bots: 3}},
		"1 of 1 bot connected, 0 requests without an answer, 2 posts undelivered (openclawd work --dead)": {"server",
			health.Discord{Bots: 1, BotsReady: 1, Undelivered: 2}},
		"0 requests without an answer, 1 escalated (openclawd collaborations --status escalated), 1 place suspended (openclawd discord threads --all), " +
			"1 post undelivered (openclawd work --dead)": {"file", health.Discord{Escalated: 1, Suspended: 1, Undelivered: 1}},
	} {
		r := statusReport{Source: c.source, Status: &monitor.Status{Discord: c.state}}
		if got := r.discordLine(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
