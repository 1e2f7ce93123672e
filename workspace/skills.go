package workspace

import (
	"io/fs"

	"github.com/pronto-lab/openclawd/coordination/skill"
)

// MaxSkills is how many skills of a workspace are read.
const MaxSkills = 150

// maxSkillHead is how many characters of a SKILL.md are read: the front matter. Agents read the rest with a tool.
const maxSkillHead = 8_000

// Skills reads the skills in the directory skills of a workspace, by the names of their folders. Links are not followed. A folder without
// a SKILL.md is none; more says that there are more than MaxSkills folders. Without the directory there are none.
func (d *Dir) Skills() (all []skill.Status, more bool, err error) {
	err = d.in([]string{skill.Folder}, func(f *folder) error {
		names, _, err := f.list(func(e fs.DirEntry) bool { return e.IsDir() })
		if more = len(names) > MaxSkills; more {
			names = names[:MaxSkills]
		}
		for _, name := range names {
			if s, found := f.skill(name); found {
				all = append(all, s)
			}
		}
		return err
	})
	if isMissing(err) {
		return nil, false, nil
	}
	return all, more, err
}

// skill reads the skill in a folder.
func (f *folder) skill(name string) (s skill.Status, found bool) {
	e := Excerpt{Name: skill.FileName}
	below, err := f.sub(name)
	if err == nil {
		defer below.close()
		err = below.excerpt(&e, maxSkillHead, maxSkillHead, 0)
	}
	if isMissing(err) {
		return s, false
	}
	s.Skill, s.Fault = skill.Parse(name, e.Head)
	if err != nil {
		s.Fault = faultOf(s.Path, err).Error
	}
	return s, true
}
