package prompt

import (
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/internal/output"
)

// CutWarning describes in one line which parts of the prompt were shortened, according to the report on the last prompt of a run; "" for
// none or for a report of unknown shape.
func CutWarning(report json.RawMessage) string {
	var r Report
	if len(report) == 0 || json.Unmarshal(report, &r) != nil {
		return ""
	}
	var parts []string
	if r.Shortened > 0 {
		parts = append(parts, output.Count(int64(r.Shortened), "message"))
	}
	for _, f := range r.Files {
		if f.State == FileCut || f.State == FileLeftOut {
			parts = append(parts, output.Printable(f.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the model did not see all of " + strings.Join(parts, ", ") + ": it did not fit into the context"
}
