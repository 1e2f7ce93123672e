package prompt

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/skill"
	"github.com/pronto-lab/openclawd/workspace"
)

// maxSkillIndex bounds the index of skills, in characters.
const maxSkillIndex = 16_000

// toolRead is the tool with which agents read skills.
const toolRead = "read"

// Skills returns the skills in an agent's workspace, by their folders: those that its prompts name, and the others with the reason. Of two
// with the same name the first counts. more says that there are too many.
func Skills(c *config.Config, agentID, dir string) (all []skill.Status, more bool, err error) {
	if dir == "" {
		return nil, false, nil
	}
	all, more, err = workspace.New(dir, workspace.Options{}).Skills()
	host := skill.Host{OS: runtime.GOOS, HasBin: hasBin, HasEnv: func(name string) bool { return os.Getenv(name) != "" }}
	first := map[string]string{}
	for i := range all {
		s := &all[i]
		s.Disabled, s.Blocked, s.Missing = !c.SkillEnabled(s.Key), !c.SkillAllowed(agentID, s.Name), s.Skill.Missing(&host)
		if other := first[s.Name]; other != "" && s.Fault == "" {
			s.Fault = "its name is that of " + other
		} else if s.Fault == "" {
			first[s.Name] = s.Path
		}
	}
	return all, more, err
}

func hasBin(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil && !strings.ContainsAny(name, `/\`)
}

// readSkills returns the skills that the model is told of: none if it cannot read them.
func readSkills(a *Ask, dir string) []skill.Status {
	reads := false
	for i := range a.Tools {
		reads = reads || a.Tools[i].Name == toolRead
	}
	if !reads {
		return nil
	}
	all, _, err := Skills(a.Config, a.Agent, dir)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(s skill.Status) bool { return !s.Usable() })
}

// skillIndex lists the skills, in at most most characters.
func (s *system) skillIndex(b *strings.Builder, most int) {
	if len(s.skills) == 0 || most < leastOfFile {
		return
	}
	section(b, "Your skills")
	b.WriteString("Each of these files of your workspace says how to do one kind of work. If one fits what you are to do, read it with the tool " + toolRead +
		" before you begin; read no others. Paths in it are relative to its folder.\n")
	for i := range s.skills {
		one := &s.skills[i]
		text := fmt.Sprintf("\n- `%s` (`%s`): %s", line(one.Name), line(one.Path), one.Description)
		if most -= utf8.RuneCountInString(text); most < 0 {
			fmt.Fprintf(b, "\n- and %d more in the folder `%s`", len(s.skills)-i, skill.Folder)
			return
		}
		b.WriteString(text)
	}
}
