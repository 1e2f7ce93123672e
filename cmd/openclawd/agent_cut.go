package main

import (
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

// cutWarning says in one line what the model was told only in part, "" if nothing, by the report on the last prompt of a run. One that has
// another shape says nothing.
func cutWarning(report json.RawMessage) string {
	var r prompt.Report
	if len(report) == 0 || json.Unmarshal(report, &r) != nil {
		return ""
	}
	var parts []string
	if r.Shortened > 0 {
		parts = append(parts, output.Count(int64(r.Shortened), "message"))
	}
	for _, f := range r.Files {
		if f.State == prompt.FileCut || f.State == prompt.FileLeftOut {
			parts = append(parts, output.Printable(f.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the model was not told all of " + strings.Join(parts, ", ") + ": there was no room for it"
}
