package overrides

import (
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// latestOverrides are the last override events of all work sessions that have any.
type latestOverrides map[string]conversations.Override

// entries returns those in force.
func (h latestOverrides) entries() entries {
	list := entries{}
	for name, o := range h {
		if o.Category != "" {
			list[name] = entryOf(o)
		}
	}
	return list
}

func entryOf(o conversations.Override) entry {
	return entry{Category: o.Category, UpdatedAt: o.UpdatedAt, UpdatedBy: o.UpdatedBy}
}

// edits returns the file's changes of what the log holds, by the rules of the package. agreed is nil if not known; bad entries change
// nothing.
func edits(f *file, agreed entries, h latestOverrides, now time.Time) (list []coordination.WorkSessionCategory) {
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
		if inFile && ownTimeCounts(said, word, known, now) {
			e.UpdatedAt = said.UpdatedAt
		}
		list = append(list, e)
	}
	return list
}

// fileWins decides about an entry that differs between file and log. A missing entry is the zero one, on both sides.
func fileWins(f *file, agreed entries, name string, word conversations.Override, known bool) bool {
	if agreed != nil {
		before := agreed[name]
		byFile, byLog := f.entries[name] != before, inForce(word) != before
		if byFile != byLog {
			return byFile
		}
	}
	return !known || f.modified.UnixMilli() > word.RecordedAt
}

// inForce returns the entry that an event leaves in force, none if it removed it.
func inForce(word conversations.Override) entry {
	if word.Category == "" {
		return entry{}
	}
	return entryOf(word)
}

// ownTimeCounts reports whether an entry's own time is the time of its change: people who edit a category rarely edit its time.
func ownTimeCounts(said entry, word conversations.Override, known bool, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, said.UpdatedAt)
	if err != nil || at.After(now) {
		return false
	}
	before, err := time.Parse(time.RFC3339, word.UpdatedAt)
	return !known || err != nil || at.After(before)
}

// stamp formats a time as ECMAScript does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
