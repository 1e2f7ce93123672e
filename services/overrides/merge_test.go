package overrides

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// Who wins, by what the file and the log last agreed on. Words are of noon; the file is a minute older or newer.
func TestWhoChangedAnEntryWins(t *testing.T) {
	t.Parallel()
	const infra, docs, none = coordination.InfraOps, coordination.DocsKnowledge, coordination.Category("")
	const unknown, never = coordination.Category("unknown"), coordination.Category("never")
	for _, tt := range []struct {
		name              string
		agreed, file, log coordination.Category
		newer, wins       bool
	}{
		{"nothing has changed", infra, infra, infra, true, false},
		{"the log has set", none, none, infra, true, false},
		{"the log has changed", infra, infra, docs, true, false},
		{"the log has taken back", infra, infra, none, true, false},
		{"the file has set", none, infra, never, false, true},
		{"the file has set again", none, infra, none, false, true},
		{"the file has changed", infra, docs, infra, false, true},
		{"the file has taken back", infra, none, infra, false, true},
		{"both have changed, the file later", infra, docs, coordination.QAValidation, true, true},
		{"both have changed, the log later", infra, docs, coordination.QAValidation, false, false},
		{"both have changed alike", infra, docs, docs, true, false},
		{"the file has taken back later than the log has changed", infra, none, docs, true, true},
		{"the file has taken back before the log has changed", infra, none, docs, false, false},
		{"at start, no override events", unknown, infra, never, false, true},
		{"at start, changed in an older file", unknown, docs, infra, false, false},
		{"at start, changed in a newer file", unknown, docs, infra, true, true},
		{"at start, missing in an older file", unknown, none, infra, false, false},
		{"at start, missing in a newer file", unknown, none, infra, true, true},
		{"at start, taken back before an older file", unknown, infra, none, false, false},
		{"at start, set in a newer file", unknown, infra, none, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			of := func(c coordination.Category) entries {
				if c == none || c == never {
					return entries{}
				}
				return entries{"ws": {Category: c, UpdatedAt: noonText}}
			}
			f := &file{exists: true, entries: of(tt.file), modified: noon.Add(-time.Minute)}
			if tt.newer {
				f.modified = noon.Add(time.Minute)
			}
			agreed := of(tt.agreed)
			if tt.agreed == unknown {
				agreed = nil
			}
			h := latestOverrides{}
			if tt.log != never {
				h["ws"] = conversations.Override{Name: "ws", Category: tt.log, UpdatedAt: noonText, RecordedAt: noon.UnixMilli()}
			}
			list := edits(f, agreed, h, noon)
			if tt.wins != (len(list) == 1) || tt.wins && list[0].Category != tt.file {
				t.Errorf("edits are %+v, want one: %v", list, tt.wins)
			}
			if missing := edits(&file{}, agreed, h, noon); len(missing) != 0 {
				t.Errorf("a missing file edits %+v", missing)
			}
		})
	}
}

// Whatever file and log say, after one comparison they say the same, and neither has anything to change.
func TestOneLookMakesThemTheSame(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	category := rapid.SampledFrom([]coordination.Category{"", "infra_ops", "docs_knowledge", "qa_validation"})
	at := rapid.SampledFrom([]string{noonText, "2026-02-20T11:00:00.000Z", "", "2999-01-01T00:00:00Z"})
	list := func(t *rapid.T, label string) entries {
		drawn := entries{}
		for name, c := range rapid.MapOf(names, category).Draw(t, label) {
			if c != "" {
				drawn[name] = entry{Category: c, UpdatedAt: at.Draw(t, label+" at")}
			}
		}
		return drawn
	}
	rapid.Check(t, func(t *rapid.T) {
		f := &file{exists: true, entries: list(t, "file"), modified: noon.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "modified")) * time.Hour)}
		h := latestOverrides{}
		for name, c := range rapid.MapOf(names, category).Draw(t, "log") {
			h[name] = conversations.Override{Name: name, Category: c, UpdatedAt: at.Draw(t, "log at"), RecordedAt: noon.UnixMilli()}
		}
		var agreed entries
		if rapid.Bool().Draw(t, "known") {
			agreed = list(t, "agreed")
		}
		for _, e := range edits(f, agreed, h, noon) {
			h[e.WorkSessionID] = conversations.Override{Name: e.WorkSessionID, Category: e.Category, UpdatedAt: e.UpdatedAt, RecordedAt: noon.UnixMilli()}
		}
		text, err := h.entries().render(nil)
		if err != nil {
			t.Fatal(err)
		}
		written, bad, err := parse(text)
		if err != nil || len(bad) > 0 || !maps.Equal(written, h.entries()) {
			t.Fatalf("written as %s, read as %v, %v, %v: %s", text, written, bad, err, cmp.Diff(h.entries(), written))
		}
		again := &file{exists: true, entries: written, modified: noon.Add(2 * time.Hour)}
		if left := edits(again, written, h, noon); len(left) > 0 {
			t.Fatalf("left to change: %+v", left)
		}
		if left := edits(again, nil, h, noon); len(left) > 0 {
			t.Fatalf("left to change after a restart: %+v", left)
		}
	})
}

// An invalid entry is logged once, however often the file is written around it.
func TestBadEntriesAreTheSameAfterRender(t *testing.T) {
	t.Parallel()
	_, bad, err := parse([]byte(`{"ws_typo":{"collabCategory":"infra-ops"},"ws_text":"infra_ops","ws_list":[1,{"a":"<&"}]}`))
	if err != nil || len(bad) != 3 {
		t.Fatalf("invalid entries: %v, %v", bad, err)
	}
	text, err := entries{"ws": {Category: coordination.InfraOps, UpdatedAt: noonText}}.render(bad)
	if err != nil {
		t.Fatal(err)
	}
	_, again, err := parse(text)
	if diff := cmp.Diff(bad, again, cmp.AllowUnexported(badEntry{})); diff != "" || err != nil {
		t.Errorf("after render: %v\n%s", err, diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"ws":{"collabCategory":"infra_ops","updatedAt":"2026-02-20T12:00:00.000Z","updatedBy":"ops"}}`))
	f.Add([]byte(`{"\ud800":{"collabCategory":"infra_ops"}}`))
	f.Add([]byte(`{"a":{ "b" : [ 1, "<" ] }}`))
	f.Add([]byte(`{"a":null,"b":[],"c":{"collabCategory":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		good, bad, err := parse(text)
		if err != nil {
			return
		}
		again, err := good.render(bad)
		if err != nil {
			t.Fatal(err)
		}
		reread, rereadBad, err := parse(again)
		sameText := func(a, b badEntry) bool { return a.name == b.name && string(a.text) == string(b.text) }
		if err != nil || !slices.EqualFunc(bad, rereadBad, sameText) || !maps.Equal(good, reread) {
			t.Fatalf("%q is read as %v, %v, written as %q and read as %v, %v, %v", text, good, bad, again, reread, rereadBad, err)
		}
		for name, e := range good {
			said := coordination.WorkSessionCategory{Category: e.Category}
			said.WorkSessionID = name
			data, err := json.Marshal(said)
			if err != nil {
				t.Fatal(err)
			}
			if r := coordination.ReadRecord(coordination.RulesV2, coordination.TypeWorkSessionCategorySet, "", 1, 1, data, nil); r.WorkSessionID != name {
				t.Fatalf("the event for %q is of %q", name, r.WorkSessionID)
			}
		}
	})
}
