package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/server/settings"
)

// A check of the configuration reports bots and agents without each other, before anything connects.
func TestBotsAndAgentsThatDoNotComeTogether(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), settings.FileName)
	const text = `{
  agents: { list: [{ id: "eden" }, { id: "sol" }, { id: "ruda" }] },
  bindings: [{ agentId: "ruda", match: { channel: "discord", accountId: "red" } }, { agentId: "eden", match: { channel: "discord", accountId: "gone" } }],
  channels: { discord: { accounts: { red: { token: "a", botUserId: "100000000000000001" }, eden: { token: "b", botUserId: "100000000000000001" },
    bora: { token: "c" }, seum: {} } } },
}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(file, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range settings.CheckBots(c) {
		if f.Severity != config.Warning || f.File != file || f.Hint == "" {
			t.Errorf("%+v, want a warning of %s with its hint", f, file)
		}
		got = append(got, f.Code+" "+f.Path)
	}
	want := []string{"bot_without_agent channels.discord.accounts.bora", "same_bot channels.discord.accounts.red", "account_without_token channels.discord.accounts.seum",
		"agent_without_bot agents.list[sol]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got := settings.CheckBots(config.Default()); len(got) != 0 {
		t.Errorf("of the defaults %+v is found, want nothing", got)
	}
}
