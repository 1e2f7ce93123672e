package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
)

const adopted = `{
  // the team
  agents: {list: [{id: "eden"}]},
  mcp: {servers: {files: {command: "mcp-files", sslVerify: false}}},
  tools: {deny: ["exec"], elevated: {enabled: true}},
  skills: {entries: {weather: {enabled: true}}, load: {extraDirs: ["s"]}},
  plugins: {entries: {memory: {enabled: true}}},
  channels: {discord: {accounts: {}}, signal: {account: "+49"}},
  gateway: {port: 18789}, tyop: 1,
  env: {vars: {A: "one \
two"}},
}
`

func adopt(t *testing.T, text string, trial *config.Trial) (*config.Adoption, *config.Config) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := config.ReadDocument(path, noVariables).Adopt(trial)
	if err != nil {
		t.Fatal(err)
	}
	if before, err := os.ReadFile(path); err != nil || string(before) != text {
		t.Fatalf("the file has changed, %v", err)
	}
	next := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(next, []byte(a.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(next, noVariables)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return a, c
}

func TestAdoptNamesWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	a, c := adopt(t, adopted, nil)
	for _, want := range []string{
		"  // openclawd: skills.load",
		"  // openclawd: plugins.entries (1): not supported yet\n  plugins: {",
		"  // openclawd: tools.elevated: not supported yet\n  tools: {",
		"  // openclawd: mcp.servers.files.sslVerify: not supported yet\n",
		"  // openclawd: tyop: ",
		"  // the team\n",
	} {
		if !strings.Contains(a.Text, want) {
			t.Errorf("the text has no %q:\n%s", want, a.Text)
		}
	}
	var named []string
	for _, n := range a.Notes {
		named = append(named, n.Setting)
	}
	for _, want := range []string{"skills.load", "plugins.entries (1)", "tools.elevated", "mcp.servers.files.sslVerify", "channels.signal", "tyop"} {
		if !strings.Contains(strings.Join(named, "\n"), want) {
			t.Errorf("no note about %s: %q", want, named)
		}
	}
	if c.Gateway.Port != 18789 || len(c.Agents) != 1 {
		t.Errorf("port %d, agents %v", c.Gateway.Port, c.Agents)
	}
	if got := strings.Join(strings.Split(a.Text, "\n")[:3], "\n"); !strings.HasPrefix(adopted, got) {
		t.Errorf("it begins with %s", got)
	}
}

func TestAdoptForATrialAnswersNoMessageTwice(t *testing.T) {
	t.Parallel()
	a, c := adopt(t, adopted, &config.Trial{Gateway: 18790, API: 3848})
	if c.Gateway.Port != 18790 || c.TaskMonitor.Port != 3848 || c.Cron.Enabled || c.Discord.Enabled || !c.Telegram.Enabled {
		t.Errorf("gateway %d, API %d, cron %v, Discord %v", c.Gateway.Port, c.TaskMonitor.Port, c.Cron.Enabled, c.Discord.Enabled)
	}
	set := 0
	for _, n := range a.Notes {
		if n.Effect == "set for the trial" {
			set++
		}
	}
	if set != 4 || strings.Contains(a.Text, "telegram") {
		t.Errorf("%d settings changed:\n%s", set, a.Text)
	}
}

// Where OpenClaw's onboarding lets agents work is in its own directory.
func TestAdoptNamesWorkspacesOfBothPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "openclaw.json")
	text := fmt.Sprintf("{agents: {defaults: {workspace: %q},\n list: [{id: 'a', workspace: '/elsewhere'},\n {id: 'b', workspace: %q}]}}\n",
		filepath.Join(dir, "workspace"), filepath.Join(dir, "workspace-b"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := config.ReadDocument(path, noVariables).Adopt(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Notes) != 2 || a.Notes[0].Setting != "agents.defaults.workspace" || a.Notes[1].Setting != "agents.list[1].workspace" || a.Notes[1].Where != path+":3:23" ||
		strings.Count(a.Text, "// openclawd: agents.") != 2 {
		t.Errorf("%+v\n%s", a.Notes, a.Text)
	}
}

// A comment that would become part of a text is not written.
func TestAdoptKeepsTextsOverTwoLines(t *testing.T) {
	t.Parallel()
	text := "{env: {vars: {A: \"one \\\ntwo\"}}, browser: {enabled: true}}\n"
	if a, _ := adopt(t, text, nil); a.Text != text || len(a.Notes) != 1 {
		t.Errorf("text %s, notes %v", a.Text, a.Notes)
	}
}

func TestAdoptRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(`{agents: {list: [{id: "eden"}, {id: "eden"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadDocument(path, noVariables).Adopt(nil); err == nil {
		t.Error("no error")
	}
}
