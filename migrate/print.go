package migrate

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/pronto-lab/openclawd/internal/output"
)

// shownProblems is how many problems people are shown.
const shownProblems = 20

// LeftTotal is how much was not taken over.
func (r *Report) LeftTotal() (n int64) {
	for reason, count := range r.Reasons {
		if !notes[reason] {
			n += count
		}
	}
	return n
}

// Write writes the report for people.
func (r *Report) Write(w io.Writer) error {
	heading := "taken over from "
	if r.Plan {
		heading = "plan for "
	}
	fmt.Fprintf(w, "%s%s (%s)\n", heading, output.Printable(r.From), r.Era)
	rows := make([][]string, len(r.Counts))
	for i, c := range r.Counts {
		rows[i] = []string{c.Part, output.Thousands(c.Found), output.Thousands(c.New), output.Thousands(c.Already), output.Thousands(c.Left)}
	}
	if err := output.Table(w, []string{"PART", "FOUND", "NEW", "ALREADY", "LEFT"}, rows); err != nil {
		return err
	}
	for i, p := range r.Left {
		if i == shownProblems {
			fmt.Fprintf(w, "… and %s more: --json lists up to %d\n", output.Thousands(int64(len(r.Left)-i)), maxListed)
			break
		}
		word := "left"
		if notes[p.Reason] {
			word = "note"
		}
		fmt.Fprintf(w, "%s: %s: %s (%s)\n", word, output.Printable(p.Place), output.Printable(p.Detail), p.Reason)
		if p.Hint != "" {
			fmt.Fprintf(w, "  %s\n", p.Hint)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		if n := r.Reasons[reason]; n > 1 {
			fmt.Fprintf(w, "%s: %s in all\n", reason, output.Thousands(n))
		}
	}
	return nil
}
