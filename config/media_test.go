package config_test

import (
	"testing"
	"time"
)

// The limits of files have OpenClaw's names; an account's own takes precedence.
func TestMedia(t *testing.T) {
	t.Parallel()
	c, _ := load(t, `{"media": {"ttlHours": 24, "maxTotalMb": 10}, "channels": {
  "discord": {"mediaMaxMb": 0.5, "accounts": {"eden": {"token": "x", "mediaMaxMb": 3}, "ruda": {"token": "y"}}},
  "telegram": {"mediaMaxMb": 5}, "slack": {}}}`, nil)
	if c.Media.TTL != 24*time.Hour || c.Media.MaxTotal != 10<<20 {
		t.Errorf("%+v, want a day and 10 MB", c.Media)
	}
	for _, tt := range []struct {
		channel, account string
		want             int64
	}{{"discord", "Eden", 3 << 20}, {"discord", "ruda", 1 << 19}, {"telegram", "eden", 5 << 20}, {"slack", "eden", 20 << 20}} {
		if got := c.Channel(tt.channel).MediaLimit(tt.account); got != tt.want {
			t.Errorf("%s of %s: %d bytes, want %d", tt.account, tt.channel, got, tt.want)
		}
	}
}

func TestMediaLimitsInAnotherForm(t *testing.T) {
	t.Parallel()
	_, findings := load(t, `{"channels": {"slack": {"mediaMaxMb": -1}}}`, nil)
	wantFindings(t, findings, `error value openclaw.json:1:39: channels.slack.mediaMaxMb: -1 is not a size in MB up to 1048576 (write one, such as 20)`)
	_, findings = load(t, `{"media": {"ttlHours": 169, "maxTotalMb": "2 GB"}}`, nil)
	if len(findings) != 2 {
		t.Error("169 hours and a text as a size are accepted")
	}
}
