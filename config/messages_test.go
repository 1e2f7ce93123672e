package config_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{messages: {ackReaction: '👀', ackReactionScope: 'group-all', removeAckAfterReply: true, queue: {}, statusReactions: {}}}`, nil)
	wantFindings(t, findings)
	if c.Messages != (config.Messages{Ack: "👀", AckScope: config.AckGroups, RemoveAck: true}) {
		t.Errorf("%+v", c.Messages)
	}
	c, _ = load(t, `{}`, nil)
	if c.Messages != (config.Messages{AckScope: config.AckMentions}) || c.Messages.Acks(false, true) {
		t.Errorf("by default %+v", c.Messages)
	}
	c, findings = load(t, `{messages: {ackReaction: '`+strings.Repeat("x", 65)+`', ackReactionScope: 'some', ackReactions: 1}}`, nil)
	if len(findings) != 3 || c.Messages.Ack != "" || c.Messages.AckScope != config.AckMentions {
		t.Errorf("%v, %+v", findings, c.Messages)
	}
}
