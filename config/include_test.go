package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInclude(t *testing.T) {
	t.Parallel()
	path := files(t, map[string]string{
		"openclaw.json":    `{$include: ['base.json5', "./sub/more.json"], gateway: {port: 3}, agents: {list: {$include: 'sub/agents.json'}}}`,
		"base.json5":       `{gateway: {port: 1, bind: 'lan', mode: 'remote'}, tools: {agentToAgent: {allow: ['a', 'b']}}, session: {}}`,
		"sub/more.json":    `{gateway: {port: 2, bind: 'auto'}, tools: {agentToAgent: {allow: ['c']}}, $include: 'deeper/session.json'}`,
		"sub/agents.json":  `[{id: 'c', nam: 'x'}]`,
		"sub/deeper/x":     ``,
		"sub/x.json":       ``,
		"sub/session.json": ``,
		"sub/deeper/session.json": `{
			session: {agentToAgent: {maxPingPongTurns: 99}}}`,
	})
	c, findings := loadFile(t, path, nil)
	wantFindings(t, findings,
		`warning unknown_key sub/agents.json:1:12: agents.list[0].nam: unknown key; it has no effect (did you mean "name"?)`,
		"error value sub/deeper/session.json:2:47: session.agentToAgent.maxPingPongTurns: 99 is not a whole number from 0 to 30 (write one, such as 5)",
	)
	want := `{"agents":{"list":[{"id":"c","nam":"x"}]},"gateway":{"bind":"auto","mode":"remote","port":3},` +
		`"session":{"agentToAgent":{"maxPingPongTurns":99}},"tools":{"agentToAgent":{"allow":["c"]}}}`
	if got := string(c.Masked()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestIncludeRefuses(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(outside, []byte(`{gateway: {port: 9}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, include, code, message string }{
		{"up", `'../secret.json'`, "include_escape", "leads out"},
		{"up within", `'sub/../other.json'`, "include_escape", "leads out"},
		{"up, for Windows", `'..\\secret.json'`, "include_escape", "leads out"},
		{"absolute", `'` + outside + `'`, "include_escape", "leads out"},
		{"link out", `'link.json'`, "include_escape", "is a link that leads out"},
		{"directory that is a link out", `'linked/secret.json'`, "include_escape", "is a link that leads out"},
		{"missing", `'missing.json'`, "include", "does not exist"},
		{"database", `'openclawd.db'`, "include", "does not have the name of a configuration file"},
		{"directory", `'dir.json'`, "include", "not a regular file"},
		{"pipe", `'pipe.json'`, "include", "not a regular file"},
		{"broken", `'broken.json'`, "syntax", "the file ends inside"},
		{"list into object", `'list.json'`, "include", "contains a list, which cannot be merged"},
		{"number", `7`, "type", "the name of a file was expected, not a number"},
		{"item", `['other.json', {}]`, "type", "the name of a file was expected, not an object"},
		{"too large", `'large.json'`, "size", "is larger than 4 MiB"},
		{"itself", `'openclaw.json'`, "include_cycle", "openclaw.json -> openclaw.json"},
		{"cycle", `'a.json'`, "include_cycle", "openclaw.json -> a.json -> sub/b.json -> sub/a.json -> sub/b.json"},
		{"deep", `'deep1.json'`, "include", "more than 10 levels deep"},
		{"many", `'many.json'`, "size", "more than 200 files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content := map[string]string{
				"openclaw.json": `{gateway: {port: 1}, $include: ` + tt.include + `}`,
				"other.json":    `{}`, "openclawd.db": `{}`, "dir.json/x": ``, "broken.json": `{`, "list.json": `[]`,
				"a.json": `{$include: 'sub/b.json'}`, "sub/b.json": `{$include: 'a.json'}`, "sub/a.json": `{$include: 'b.json'}`,
				"large.json": strings.Repeat(" ", 4<<20+1), "many.json": `{$include: [` + strings.Repeat(`'other.json',`, 200) + `]}`,
			}
			for i := range 11 {
				content[fmt.Sprintf("deep%d.json", i+1)] = fmt.Sprintf(`{$include: 'deep%d.json'}`, i+2)
			}
			path := files(t, content)
			dir := filepath.Dir(path)
			for _, err := range []error{
				os.Symlink(outside, filepath.Join(dir, "link.json")), os.Symlink(filepath.Dir(outside), filepath.Join(dir, "linked")),
				pipe(filepath.Join(dir, "pipe.json")),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			c, findings := loadFile(t, path, nil)
			if len(findings) != 1 || !strings.HasPrefix(findings[0], "error "+tt.code+" ") || !strings.Contains(findings[0], tt.message) {
				t.Errorf("findings %q", findings)
			}
			if c.Gateway.Port != 1 {
				t.Errorf("port %d", c.Gateway.Port)
			}
		})
	}
}

// A link within the directory is as good as a file; so is a main file that is itself a link.
func TestIncludeFollowsLinksWithin(t *testing.T) {
	t.Parallel()
	path := files(t, map[string]string{"real.json": `{$include: 'port.json'}`, "data/port.json": `{gateway: {port: 5}}`})
	dir := filepath.Dir(path)
	for link, target := range map[string]string{"openclaw.json": "real.json", "port.json": "data/port.json"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	c, findings := loadFile(t, path, nil)
	wantFindings(t, findings)
	if c.Gateway.Port != 5 {
		t.Errorf("port %d", c.Gateway.Port)
	}
}
