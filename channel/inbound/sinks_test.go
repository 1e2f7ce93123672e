package inbound_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// A bot that reports and speaks for no agent is a sink; one that speaks for an agent too is not.
func TestSinksAreBotsThatOnlyReport(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Discord.Accounts = []config.Account{{ID: "Reporter", BotUserID: "31"}, {ID: "ruda", BotUserID: "32"}, {ID: "blank"}}
	for _, account := range []string{"reporter", "ruda", "blank", "ghost", ""} {
		c.Gateway.Sinks = append(c.Gateway.Sinks, config.Sink{Discord: config.SinkDiscord{RouterAccount: account}})
	}
	s := inbound.SinksOf(c, []route.Bot{{UserID: "32", AccountID: "ruda", Agent: "ruda"}})
	if diff := cmp.Diff(route.Sinks{Authors: []string{"31"}}, s); diff != "" {
		t.Errorf("the sinks (-want +got):\n%s", diff)
	}
}
