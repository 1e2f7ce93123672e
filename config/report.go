package config

import (
	"cmp"
	"fmt"
	"slices"
)

// mostOfACode is how many findings per code are listed. A file of 4 MiB could cause a million.
const mostOfACode = 100

type report struct {
	kept    Findings
	counts  map[string]int
	dropped map[string]Finding // by code, the first that was not listed

	unsupported unsupported
}

func newReport() *report { return &report{counts: map[string]int{}, dropped: map[string]Finding{}} }

func (r *report) add(f Finding) {
	r.counts[f.Code]++
	switch n := r.counts[f.Code]; {
	case n <= mostOfACode:
		r.kept = append(r.kept, f)
	case n == mostOfACode+1:
		r.dropped[f.Code] = f
	}
}

// isFull reports whether further findings of a code are only counted.
func (r *report) isFull(code string) bool { return r.counts[code] >= mostOfACode }

// findings returns all findings: those of the main file first, by place.
func (r *report) findings(main string) Findings {
	all := slices.Clone(r.kept)
	for code, f := range r.dropped {
		f.Path, f.Value = "", ""
		f.Message = fmt.Sprintf("from here on, %d more findings of this kind are not listed", r.counts[code]-mostOfACode)
		f.Hint = "fix the others first"
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(order(a.File == main, b.File == main), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code))
	})
	return all
}

// order sorts true first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func failure(code string, at position, p *path, message, hint string) Finding {
	return Finding{Severity: Error, Code: code, File: at.file, Line: at.line, Column: at.column, Path: p.String(), Message: message, Hint: hint}
}

func warning(code string, at position, p *path, message, hint string) Finding {
	f := failure(code, at, p, message, hint)
	f.Severity = Warning
	return f
}
