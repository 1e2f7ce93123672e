package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

// What the log keeps of a configuration says the same as its files did, secrets and what lies outside of it aside.
func TestAppliedSettingsAreReadAgain(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile(filepath.Join("..", "testdata", "sample", "openclaw.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": `{}`,
		"sample":  string(sample),
		"agents": `{
			agents: {
				defaults: {workspace: '${ROOT}/x', timeoutSeconds: 0x3C, taskContinuation: {checkInterval: '90s', zombieTaskTtl: "7d"}},
				list: [{id: 'eden', identity: {name: '이든'}, role: 'lead', subagents: {allowAgents: ['*']}}, {id: 'x', kind: 'utility', workspace: '~/x'}],
				older: {name: 'Old'},
			},
			tools: {sessions: {visibility: 'all'}, agentToAgent: {enabled: true, allow: ['EDEN', '*'], pairs: [{from: 'eden', to: 'e*', allow: false}]}},
			channels: {discord: {accounts: {bot: {name: '$${NO}', botUserId: '111122223333444455'}}, mentions: {'222233334444555566': '사람'}}},
		}`,
		"secrets": `{gateway: {auth: {mode: 'token', token: 'a-long-secret'}}, channels: {discord: {accounts: {bot: {name: 'a-long-secret'}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, findings := config.Load(files(t, map[string]string{"openclaw.json": text}), func(name string) string {
				return map[string]string{"ROOT": "/srv"}[name]
			})
			if err := findings.Err(); err != nil {
				t.Fatal(err)
			}
			again, ok := config.FromApplied(c.Applied().Settings)
			if !ok {
				t.Fatal("not read")
			}
			if c.Hash() != again.Hash() {
				t.Errorf("hash %s, was %s:\n%s\n%s", again.Hash(), c.Hash(), again.Masked(), c.Masked())
			}
			ignored := []string{"File", "Files", "byID", "indexed", "tree", "hide", "masked"}
			if name == "secrets" {
				ignored = append(ignored, "Gateway", "Discord")
			}
			diff := cmp.Diff(c, again, cmp.FilterPath(func(p cmp.Path) bool {
				f, is := p.Last().(cmp.StructField)
				return is && (slices.Contains(ignored, f.Name()) || f.Name() == "Line" || f.Name() == "Column")
			}, cmp.Ignore()))
			if diff != "" {
				t.Errorf("(-was +read)\n%s", diff)
			}
		})
	}
	for _, text := range []string{``, `[]`, `{`, `null`, `"x"`} {
		if _, ok := config.FromApplied([]byte(text)); ok {
			t.Errorf("%q is taken for settings", text)
		}
	}
}
