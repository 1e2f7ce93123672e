package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Group says what it means that openclawd does not go by a setting of the reference system.
type Group string

const (
	// NotBuilt means that the reference system would do something which openclawd does not do.
	NotBuilt Group = "not_built"
	// NoMatter means that nothing would follow here: the setting is about programs, screens and habits of the reference system.
	NoMatter Group = "no_matter"
)

// Groups are all of them, in the order in which they are told.
func Groups() []Group { return []Group{NotBuilt, NoMatter} }

// String names a group as people read it.
func (g Group) String() string {
	if g == NotBuilt {
		return "not built yet"
	}
	return "does not matter here"
}

// Unsupported is a setting that the files set and that openclawd keeps and does not go by.
type Unsupported struct {
	Group   Group  `json:"group"`
	File    string `json:"file"`
	Line    int    `json:"line"` // of the first place, where there are several
	Column  int    `json:"column"`
	Setting string `json:"setting"` // cron, mcp.servers, ui.*, agents.entries.*.heartbeat
	Count   int    `json:"count"`   // how many entries it has, or at how many places it is set; 0 where that says nothing
	Unit    string `json:"unit"`    // what is counted, in the plural: jobs, places; may be ""
}

// Where is the place as compilers write it: file:line:column.
func (u *Unsupported) Where() string { return fmt.Sprintf("%s:%d:%d", u.File, u.Line, u.Column) }

// String is the setting with what it counts: cron (3 jobs), mcp.servers (2), ui.*.
func (u *Unsupported) String() string {
	switch {
	case u.Count == 0:
		return u.Setting
	case u.Unit == "":
		return fmt.Sprintf("%s (%d)", u.Setting, u.Count)
	case u.Count == 1:
		return fmt.Sprintf("%s (1 %s)", u.Setting, u.Unit[:len(u.Unit)-1])
	}
	return fmt.Sprintf("%s (%d %s)", u.Setting, u.Count, u.Unit)
}

// Together are several settings on one line, as people read them: cron (3 jobs), mcp.servers (2).
func Together(all []Unsupported) string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].String()
	}
	return strings.Join(names, ", ")
}

// mostUnsupported is how many settings are listed. Files of people have dozens; what is beyond it is told by its number.
const mostUnsupported = 300

// collection is a member of a section of which its size is told: as cron (3 jobs) where the entries have a unit, else as mcp.servers (2).
type collection struct{ key, unit string }

// collections are those of sections at the root.
func collections() map[string]collection {
	return map[string]collection{
		"auth": {"profiles", ""}, "cron": {"jobs", "jobs"}, "hooks": {"mappings", "mappings"}, "mcp": {"servers", ""},
		"plugins": {"entries", ""}, "secrets": {"providers", ""}, "skills": {"entries", ""},
	}
}

// unsupported gathers what the files set and openclawd does not go by: one entry for each setting, however many agents, accounts or models have it.
type unsupported struct {
	all    []Unsupported
	places map[string]int // by setting, with * for names and [] for places in lists: where in all it is
}

func (u *unsupported) add(group Group, m *member, at *path) {
	if m.value.kind == null {
		return
	}
	if known, is := collections()[m.key]; is && at.parent == nil && m.value.kind == object {
		u.addSection(group, m, at, known)
		return
	}
	one := Unsupported{Group: group, Setting: at.String()}
	if group == NoMatter && m.value.kind == object {
		one.Setting += ".*"
	}
	u.put(one, m, at)
}

// addSection tells a section by its collection.
func (u *unsupported) addSection(group Group, section *member, at *path, known collection) {
	size := 0
	if entries := section.value.get(known.key); entries != nil {
		size = len(entries.items) + len(entries.members)
	}
	if known.unit != "" {
		u.put(Unsupported{Group: group, Setting: at.String(), Count: size, Unit: known.unit}, section, at)
		return
	}
	for _, m := range section.value.members {
		one := Unsupported{Group: group, Setting: at.member(m.key).String()}
		if m.key == known.key {
			one.Count = size
		}
		u.put(one, m, at.member(m.key))
	}
	if len(section.value.members) == 0 {
		u.put(Unsupported{Group: group, Setting: at.String()}, section, at)
	}
}

func (u *unsupported) put(one Unsupported, m *member, at *path) {
	one.File, one.Line, one.Column = m.at.file, m.at.line, m.at.column
	pattern := at.pattern()
	if i, again := u.places[pattern]; again {
		first := &u.all[i]
		if first.Unit == "places" {
			first.Count++
			return
		}
		first.Setting, first.Count, first.Unit = pattern, 2, "places"
		if one.Group == NoMatter && m.value.kind == object {
			first.Setting += ".*"
		}
		return
	}
	if u.places == nil {
		u.places = map[string]int{}
	}
	u.places[pattern] = len(u.all)
	u.all = append(u.all, one)
}

// list is what was added, that of the main file first, in the order of their places; and how many settings are left out of it.
func (u *unsupported) list(main string) (all []Unsupported, more int) {
	all = slices.Clone(u.all)
	slices.SortStableFunc(all, func(a, b Unsupported) int {
		return cmp.Or(order(a.File == main, b.File == main), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(all) > mostUnsupported {
		return all[:mostUnsupported], len(all) - mostUnsupported
	}
	return all, 0
}
