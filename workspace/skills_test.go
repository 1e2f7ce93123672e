package workspace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/workspace"
)

// Skills are regular files in folders of their own; no link leads to another place, and no file is read whole.
func TestSkills(t *testing.T) {
	t.Parallel()
	const head = "---\nname: %s\ndescription: does %[1]s\n---\n"
	h := newHome(t, workspace.Options{})
	d := workspace.New(h.path, workspace.Options{})
	if all, more, err := d.Skills(); len(all) > 0 || more || err != nil {
		t.Errorf("without skills: %v, %t, %v", all, more, err)
	}
	h.write(t, "skills/mail/SKILL.md", fmt.Sprintf(head, "mail")+strings.Repeat("long ", 100_000))
	h.write(t, "skills/empty/other.md", "x")
	h.write(t, "skills/zero/SKILL.md", "---\nname: zero\x00\n---")
	h.write(t, "skills/folder/SKILL.md/x", "")
	h.write(t, "skills/broken/SKILL.md", "# no front matter")
	h.write(t, "skills/SKILL.md", fmt.Sprintf(head, "top"))
	h.write(t, "else/SKILL.md", fmt.Sprintf(head, "else"))
	h.link(t, filepath.Join(h.path, "else"), "skills/linked")
	h.write(t, "skills/inside/x", "")
	h.link(t, filepath.Join(h.path, "else/SKILL.md"), "skills/inside/SKILL.md")
	all, more, err := d.Skills()
	var got []string
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %s (%s) %s", s.Path, s.Name, s.Description, s.Fault))
	}
	want := []string{
		"skills/broken/SKILL.md broken () no front matter between two lines ---",
		"skills/folder/SKILL.md folder () " + workspace.ReasonSpecial,
		"skills/inside/SKILL.md inside () " + workspace.ReasonLink,
		"skills/mail/SKILL.md mail (does mail) ",
		"skills/zero/SKILL.md zero () " + workspace.ReasonText,
	}
	if diff := cmp.Diff(want, got); diff != "" || more || err != nil {
		t.Errorf("%t, %v (-want +got)\n%s", more, err, diff)
	}
}

func TestSkillsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	for i := range workspace.MaxSkills + 5 {
		h.write(t, fmt.Sprintf("skills/s%04d/SKILL.md", i), "---\ndescription: d\n---\n")
	}
	all, more, err := workspace.New(h.path, workspace.Options{}).Skills()
	if len(all) != workspace.MaxSkills || !more || err != nil {
		t.Errorf("%d skills, %t, %v", len(all), more, err)
	}
}

// A link in place of the directory of skills is not followed.
func TestSkillsElsewhereAreNone(t *testing.T) {
	t.Parallel()
	h, other := newHome(t, workspace.Options{}), newHome(t, workspace.Options{})
	other.write(t, "a/SKILL.md", "---\ndescription: d\n---\n")
	h.link(t, other.path, "skills")
	if all, _, err := workspace.New(h.path, workspace.Options{}).Skills(); len(all) > 0 || err == nil {
		t.Errorf("%v, %v", all, err)
	}
}
