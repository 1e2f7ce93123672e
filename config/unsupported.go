package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Group says why openclawd ignores a setting of OpenClaw.
type Group string

const (
	// NotBuilt means that openclawd does not have the feature.
	NotBuilt Group = "not_built"
	// NoMatter means that the setting has no meaning here: it is about programs, screens and habits of the reference
	// system.
	NoMatter Group = "no_matter"
)

// Groups lists all groups in display order.
func Groups() []Group { return []Group{NotBuilt, NoMatter} }

// String names a group as people read it.
func (g Group) String() string {
	if g == NotBuilt {
		return "not supported yet"
	}
	return "not relevant to openclawd"
}

// Unsupported is a setting in the files that openclawd keeps but ignores.
type Unsupported struct {
	Group   Group  `json:"group"`
	File    string `json:"file"`
	Line    int    `json:"line"` // the first place, if there are several
	Column  int    `json:"column"`
	Setting string `json:"setting"` // cron, mcp.apps, ui.*, agents.entries.*.heartbeat
	Count   int    `json:"count"`   // number of entries, or of places; 0 if meaningless
	Unit    string `json:"unit"`    // the unit, in the plural: places; may be ""
}

// Where is the place in the form file:line:column.
func (u *Unsupported) Where() string { return fmt.Sprintf("%s:%d:%d", u.File, u.Line, u.Column) }

// String formats the setting with its count: agents.entries.*.params (3 places), plugins.entries (2), ui.*.
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

// Together formats several settings as one line: browser, plugins.entries (2).
func Together(all []Unsupported) string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].String()
	}
	return strings.Join(names, ", ")
}

// mostUnsupported is how many settings are listed; further ones are counted. Real files have dozens.
const mostUnsupported = 300

// collections are the members of sections whose entries are counted, as in plugins.entries (2).
func collections() map[string]string {
	return map[string]string{"auth": "profiles", "plugins": "entries", "secrets": "providers"}
}

// unsupported collects ignored settings: one entry per setting, however many agents, accounts or models have it.
type unsupported struct {
	all    []Unsupported
	places map[string]int // by setting, with * for names and [] for indexes: all its places
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

func (u *unsupported) addSection(group Group, section *member, at *path, known string) {
	size := 0
	if entries := section.value.get(known); entries != nil {
		size = len(entries.items) + len(entries.members)
	}
	for _, m := range section.value.members {
		one := Unsupported{Group: group, Setting: at.member(m.key).String()}
		if m.key == known {
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

// list returns the entries, those of the main file first, by place, and the number of omitted ones.
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
