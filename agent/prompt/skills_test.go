package prompt_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

func skillText(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n# The whole text", name, description)
}

// An agent that can read is told which skills it may use, and of none that it may not or cannot; the text is left to the tool.
func TestSkillsAreAnIndex(t *testing.T) {
	t.Parallel()
	b := newTeam(t, `{agents: {entries: {eden: {default: true, skills: ['mail', 'off', 'needy', 'hidden', 'twin']}, ruda: {}}}, skills: {entries: {off: {enabled: false}}}}`)
	for name, text := range map[string]string{
		"mail": skillText("mail", "Answer mail."), "off": skillText("off", "Is off."), "blocked": skillText("blocked", "Is blocked."),
		"needy":  skillText("needy", "Needs a program.\nmetadata: {\"openclaw\": {\"requires\": {\"bins\": [\"no-such-program-here\"]}}}"),
		"hidden": skillText("hidden", "Is hidden.\ndisable-model-invocation: true"), "twin-1": skillText("twin", "The first twin."), "twin-2": skillText("twin", "The second twin."),
	} {
		write(t, b.dir, "workspace-eden/skills/"+name+"/SKILL.md", text)
	}
	ask := prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Message: user("hi"), Tools: []tool.Spec{{Name: "read"}}}
	const want = "# Your skills\n\nEach of these files of your workspace says how to do one kind of work. If one fits what you are to do, read it with the tool read before you begin; " +
		"read no others. Paths in it are relative to its folder.\n\n- `mail` (`skills/mail/SKILL.md`): Answer mail.\n- `twin` (`skills/twin-1/SKILL.md`): The first twin."
	if p := b.build(t, ask); !strings.Contains(p.System, want) || strings.Contains(p.System, "Is ") || strings.Contains(p.System, "whole text") || strings.Contains(p.System, "second") {
		t.Errorf("%s", p.System)
	}
	ask.Tools = []tool.Spec{{Name: "write"}}
	if p := b.build(t, ask); strings.Contains(p.System, "skills") {
		t.Errorf("an agent that cannot read is told:\n%s", p.System)
	}
	all, more, err := prompt.Skills(b.Config, "eden", filepath.Join(b.dir, "workspace-eden"))
	why := map[string]string{}
	for i := range all {
		why[all[i].Path] = all[i].Why()
	}
	if more || err != nil || why["skills/off/SKILL.md"] != "disabled by skills.entries" || why["skills/blocked/SKILL.md"] != "not in the agent's list of skills" ||
		why["skills/needy/SKILL.md"] != "missing programs: no-such-program-here" || why["skills/twin-2/SKILL.md"] != "its name is that of skills/twin-1/SKILL.md" || why["skills/mail/SKILL.md"] != "" {
		t.Errorf("%q %t %v", why, more, err)
	}
}

// The index is bounded, and gives way where a window is small.
func TestTheIndexOfSkillsIsBounded(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	for i := range 100 {
		write(t, b.dir, fmt.Sprintf("workspace-eden/skills/s%03d/SKILL.md", i), skillText(fmt.Sprint("skill-", i), strings.Repeat("word ", 90)))
	}
	ask := prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Message: user("hi"), Tools: []tool.Spec{{Name: "read"}}}
	p := b.build(t, ask)
	_, index, _ := strings.Cut(p.System, "# Your skills")
	index, _, _ = strings.Cut(index, "\n\n# ")
	if n := strings.Count(index, "SKILL.md"); n < 20 || len(index) > 17_000 || !strings.HasSuffix(index, fmt.Sprintf("\n- and %d more in the folder `skills`", 100-n)) {
		t.Errorf("%d skills in %d bytes: ...%s", n, len(index), index[max(0, len(index)-200):])
	}
	ask.Window, ask.Answer = 2_000, 500
	if p := b.build(t, ask); strings.Contains(p.System, "# Your skills") && len(p.System) > 4_000 {
		t.Errorf("%d bytes in a small window", len(p.System))
	}
}
