package overrides

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// entry is the file's entry of one work session, as the original writes it.
type entry struct {
	Category  coordination.Category `json:"collabCategory"`
	UpdatedAt string                `json:"updatedAt"`
	UpdatedBy string                `json:"updatedBy,omitempty"`
}

type entries map[string]entry

// Bounds of texts in characters, as in requests.
const (
	maxName      = 1_024
	maxUpdatedBy = 200
	maxUpdatedAt = 64
)

// badEntry is an invalid entry of the file, and why it is invalid.
type badEntry struct {
	name string
	text json.RawMessage // without insignificant space, so that it is the same after render
	why  string
}

// parse parses a file. Its error explains an invalid file; invalid entries are returned in bad.
func parse(text []byte) (good entries, bad []badEntry, err error) {
	if !utf8.Valid(text) {
		return nil, nil, fmt.Errorf("it is not UTF-8")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if raw == nil {
		return nil, nil, fmt.Errorf("it is null, not a JSON object")
	}
	good = make(entries, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		e, why := parseEntry(name, raw[name])
		if why != "" {
			var compact bytes.Buffer
			if err := json.Compact(&compact, raw[name]); err != nil {
				return nil, nil, err
			}
			bad = append(bad, badEntry{name, compact.Bytes(), why})
			continue
		}
		good[name] = e
	}
	return good, bad, nil
}

func parseEntry(name string, text json.RawMessage) (e entry, why string) {
	var given struct{ CollabCategory, UpdatedAt, UpdatedBy any }
	if text[0] != '{' || json.Unmarshal(text, &given) != nil {
		return e, "it is not an object with collabCategory"
	}
	category, _ := given.CollabCategory.(string)
	e.Category = coordination.Category(category)
	e.UpdatedAt, _ = given.UpdatedAt.(string)
	by, _ := given.UpdatedBy.(string) // anything else is ignored, as in the original
	e.UpdatedBy = coordination.TrimJS(by)
	switch {
	case name == "" || coordination.TrimJS(name) != name:
		return e, "a workSessionId must not be empty or have space around it"
	case utf8.RuneCountInString(name) > maxName:
		return e, fmt.Sprintf("a workSessionId has at most %d characters", maxName)
	case !e.Category.Valid():
		return e, fmt.Sprintf("collabCategory %.40q is not one of the ten", category)
	case len(e.UpdatedAt) > maxUpdatedAt:
		return e, "updatedAt is not a time such as 2026-02-20T12:00:00.000Z"
	case utf8.RuneCountInString(e.UpdatedBy) > maxUpdatedBy:
		return e, fmt.Sprintf("updatedBy has at most %d characters", maxUpdatedBy)
	}
	return e, ""
}

// render writes entries as the original does, sorted by name, with the invalid ones unchanged among them.
func (list entries) render(bad []badEntry) ([]byte, error) {
	all := make(map[string]any, len(list)+len(bad))
	for name, e := range list {
		all[name] = e
	}
	for _, e := range bad {
		all[e.name] = e.text
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(all)
	return b.Bytes(), err
}
