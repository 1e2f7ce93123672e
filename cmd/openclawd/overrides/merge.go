package overrides

import (
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversation"
)

// held are the last words of the log on all work sessions that anybody ever spoke of.
type held map[string]conversation.Override

// entries are those in force.
func (h held) entries() entries {
	list := entries{}
	for name, o := range h {
		if o.Category != "" {
			list[name] = entryOf(o)
		}
	}
	return list
}

func entryOf(o conversation.Override) entry {
	return entry{Category: o.Category, UpdatedAt: o.UpdatedAt, UpdatedBy: o.UpdatedBy}
}

// edits lists what the file changes of what the log holds, by the rule of the package. agreed is what both last said, nil where that is
// not known; bad entries say nothing.
func edits(f *file, agreed entries, h held, now time.Time) (list []coordination.WorkSessionCategory) {
	if !f.exists {
		return nil
	}
	names := map[string]bool{}
	for name := range f.entries {
		names[name] = true
	}
	for name := range h {
		names[name] = true
	}
	for _, bad := range f.bad {
		delete(names, bad.name)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		said, inFile := f.entries[name]
		word, known := h[name]
		if said == inForce(word) || !fileWins(f, agreed, name, word, known) {
			continue
		}
		e := coordination.WorkSessionCategory{Category: said.Category, UpdatedBy: said.UpdatedBy, UpdatedAt: stamp(now)}
		e.Context = coordination.Context{WorkSessionID: name, EventRole: coordination.RoleObservability}
		if inFile && tellsTime(said, word, known, now) {
			e.UpdatedAt = said.UpdatedAt
		}
		list = append(list, e)
	}
	return list
}

// fileWins decides about an entry in which the file and the log differ. An entry that is not there is the zero one, on both sides.
func fileWins(f *file, agreed entries, name string, word conversation.Override, known bool) bool {
	if agreed != nil {
		before := agreed[name]
		byFile, byLog := f.entries[name] != before, inForce(word) != before
		if byFile != byLog {
			return byFile
		}
	}
	return !known || f.modified.UnixMilli() > word.RecordedAt
}

// inForce is what a word leaves in force: nothing where it took back.
func inForce(word conversation.Override) entry {
	if word.Category == "" {
		return entry{}
	}
	return entryOf(word)
}

// tellsTime reports whether an entry's own time is that of its change: who changes a category by hand rarely changes the time beside it.
func tellsTime(said entry, word conversation.Override, known bool, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, said.UpdatedAt)
	if err != nil || at.After(now) {
		return false
	}
	before, err := time.Parse(time.RFC3339, word.UpdatedAt)
	return !known || err != nil || at.After(before)
}

// stamp is how ECMAScript writes a time.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
