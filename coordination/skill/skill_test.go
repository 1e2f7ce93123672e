package skill_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/skill"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		want  skill.Skill
		fault string
	}{
		"plain": {"---\nname: weather\ndescription: Get the weather: now and tomorrow # no key\n---\n# Weather", skill.Skill{Name: "weather", Description: "Get the weather: now and tomorrow"}, ""},
		"quoted": {"---\r\nname: 'the ''best'''\r\ndescription: \"Say \\\"hi\\\": é\"\r\nhomepage: https://example.com\r\n---\r\n",
			skill.Skill{Name: "the 'best'", Description: `Say "hi": é`, Homepage: "https://example.com"}, ""},
		"folded":    {"---\ndescription: >-\n  one\n  two\n\n  three\nname: x\n---\n", skill.Skill{Name: "x", Description: "one two three"}, ""},
		"literal":   {"---\nname: x\ndescription: |\n  one\n  two\n---\n", skill.Skill{Name: "x", Description: "one two"}, ""},
		"continued": {"---\nname: x\ndescription: one\n  two\nuser-invocable: true\ndisable-model-invocation: true\n---\n", skill.Skill{Name: "x", Description: "one two", Hidden: true}, ""},
		"metadata": {`---
name: github
description: "Use gh"
metadata:
  {
    "openclaw":
      {
        "emoji": "🐙", "skillKey": "gh", "always": false, "primaryEnv": "GH_TOKEN", "os": ["darwin", "linux"],
        "requires": { "bins": ["gh"], "anyBins": ["a", "b",], "env": ["GH_TOKEN"], "config": ["channels.x"] },
        "install": [ { "id": "brew, ]", }, ],
      },
  }
---
`, skill.Skill{Name: "github", Description: "Use gh", Key: "gh", Emoji: "🐙", PrimaryEnv: "GH_TOKEN",
			Needs: skill.Needs{Bins: []string{"gh"}, AnyBins: []string{"a", "b"}, Env: []string{"GH_TOKEN"}, Config: []string{"channels.x"}, OS: []string{"darwin", "linux"}}}, ""},
		"metadata on one line": {"---\nname: x\ndescription: d\nmetadata: {\"clawdbot\":{\"always\":true,\"requires\":{\"bins\":[\"x\"]}}}\n---", skill.Skill{Name: "x", Description: "d", Always: true,
			Needs: skill.Needs{Bins: []string{"x"}}}, ""},
		"no metadata of ours": {"---\ndescription: d\nmetadata:\n  author: a\nname: x\n---\n", skill.Skill{Name: "x", Description: "d"}, ""},
		"broken metadata":     {"---\nname: x\ndescription: d\nmetadata: {broken\n---\n", skill.Skill{Name: "x", Description: "d"}, "its metadata is not JSON"},
		"no name":             {"---\ndescription: d\n---\n", skill.Skill{Name: "folder", Description: "d"}, ""},
		"no description":      {"---\nname: x\n---\n", skill.Skill{Name: "x"}, "no description: agents would not know when to use it"},
		"no front matter":     {"# Weather", skill.Skill{Name: "folder"}, "no front matter between two lines ---"},
		"not ended":           {"---\nname: x\ndescription: d\n", skill.Skill{Name: "folder"}, "no front matter between two lines ---"},
		"one line each":       {"---\nname: \"a\\nb\"\ndescription: \"c\\n# Obey\"\n---\n", skill.Skill{Name: "a b", Description: "c # Obey"}, ""},
	} {
		if c.want.Path = "skills/folder/SKILL.md"; c.want.Key == "" {
			c.want.Key = c.want.Name
		}
		got, fault := skill.Parse("folder", c.text)
		if diff := cmp.Diff(c.want, got); diff != "" || fault != c.fault {
			t.Errorf("%s: %q (-want +got)\n%s", name, fault, diff)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	h := skill.Host{OS: "linux", HasBin: func(name string) bool { return name == "gh" }, HasEnv: func(name string) bool { return name == "HOME" }}
	for why, n := range map[string]skill.Needs{
		"":                         {Bins: []string{"gh"}, AnyBins: []string{"x", "gh"}, Env: []string{"HOME"}, OS: []string{"darwin", "linux"}},
		"missing programs: jq":     {Bins: []string{"gh", "jq"}},
		"missing programs: a, b":   {AnyBins: []string{"a", "b"}},
		"missing variables: TOKEN": {Env: []string{"TOKEN", "HOME"}},
		"only for darwin, win32":   {OS: []string{"darwin", "win32"}},
		"needs settings that openclawd does not have: browser.enabled": {Config: []string{"browser.enabled"}},
	} {
		s := skill.Status{Skill: skill.Skill{Needs: n}}
		s.Missing = s.Skill.Missing(&h)
		if s.Why() != why || s.Usable() != (why == "") {
			t.Errorf("%+v: %q, want %q", n, s.Why(), why)
		}
		if s.Always = true; why != "" {
			if m := s.Skill.Missing(&h); !m.Empty() {
				t.Errorf("%+v: a skill that needs nothing misses %+v", n, m)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: x\ndescription: >\n a\nmetadata: {\"openclaw\":{\"os\":[\"a\",]}}\n---\n")
	f.Add("---\n:\n\"\n'\n---")
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := skill.Parse("folder", text)
		for _, one := range []string{s.Name, s.Description, s.Key, s.Emoji} {
			if strings.ContainsAny(one, "\n\r") || utf8.RuneCountInString(one) > 500 {
				t.Errorf("%q", one)
			}
		}
		if s.Name == "" {
			t.Error("no name")
		}
	})
}
