package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/server/settings"
)

// The gateway shows an agent's skills in OpenClaw's shape, and why some are not used.
func TestTheGatewayShowsSkills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	for name, text := range map[string]string{
		settings.FileName: fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {main: {default: true, workspace: %q}}}, skills: {entries: {gh: {enabled: false}}}}`, home),
		"home/skills/git/SKILL.md": "---\nname: github\ndescription: Use gh.\nhomepage: https://example.com\n" +
			`metadata: {"openclaw": {"emoji": "🐙", "skillKey": "gh", "primaryEnv": "GH", "requires": {"bins": ["no-such-program-here"]}}}` + "\n---\n",
		"home/skills/note/SKILL.md": "# a note",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = dir, filepath.Join(dir, database.Name), "127.0.0.1:0"
	})
	got, err := connect(t, gatewayURL(p.gatewayAddress())).Call(t.Context(), "skills.status", map[string]any{})
	const none = `{"bins":[],"anyBins":[],"env":[],"config":[],"os":[]}`
	const lacks = `{"bins":["no-such-program-here"],"anyBins":[],"env":[],"config":[],"os":[]}`
	want := fmt.Sprintf(`{"workspaceDir":%[1]q,"managedSkillsDir":"","skills":[`+
		`{"name":"github","description":"Use gh.","source":"openclaw-workspace","bundled":false,"filePath":"%[1]s/skills/git/SKILL.md","baseDir":"%[1]s/skills/git","skillKey":"gh",`+
		`"primaryEnv":"GH","emoji":"🐙","homepage":"https://example.com","always":false,"disabled":true,"blockedByAllowlist":false,"eligible":false,"requirements":`+lacks+`,"missing":`+lacks+
		`,"configChecks":[],"install":[]},`+
		`{"name":"note","description":"","source":"openclaw-workspace","bundled":false,"filePath":"%[1]s/skills/note/SKILL.md","baseDir":"%[1]s/skills/note","skillKey":"note",`+
		`"always":false,"disabled":false,"blockedByAllowlist":false,"eligible":false,"requirements":`+none+`,"missing":`+none+`,"configChecks":[],"install":[],`+
		`"fault":"no front matter between two lines ---"}]}`, home)
	if string(got) != want || err != nil {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}
