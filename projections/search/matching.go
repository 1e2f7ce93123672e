package search

import (
	"cmp"
	"slices"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// spans finds the matches of words in a text split into pieces: in order, merging those that touch or overlap. It
// finds what the index would find, for highlighting.
func (w Words) spans(p *pieces) []span {
	var found []span
	for _, wanted := range w.wanted {
		for at := range p.list {
			found = wanted.spansAt(found, p, at)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	merged := found[:0]
	for _, s := range found {
		if last := len(merged) - 1; last >= 0 && s.start <= merged[last].end {
			merged[last].end = max(merged[last].end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// spansAt adds the match of the word from a piece of the text on.
func (w word) spansAt(found []span, p *pieces, at int) []span {
	first := p.list[at]
	if len(w) == 1 {
		if first.dense != w[0].dense {
			return found
		}
		runes := p.of(first)
		last := len(runes) - len(w[0].runes)
		if !first.dense {
			last = min(last, 0)
		}
		for i := 0; i <= last; i++ {
			if slices.Equal(runes[i:i+len(w[0].runes)], w[0].runes) {
				found = append(found, p.span(first.from+i, first.from+i+len(w[0].runes)))
			}
		}
		return found
	}
	if at+len(w) > len(p.list) {
		return found
	}
	from, to := 0, 0
	for i, part := range w {
		have := p.list[at+i]
		runes := p.of(have)
		if have.dense != part.dense || len(runes) < len(part.runes) {
			return found
		}
		switch cut := len(runes) - len(part.runes); {
		case i == len(w)-1:
			runes, to = runes[:len(part.runes)], have.from+len(part.runes)
		case i == 0 && part.dense:
			runes, from = runes[cut:], have.from+cut
		case i == 0:
			from = have.from
		}
		if !slices.Equal(runes, part.runes) {
			return found
		}
	}
	return append(found, p.span(from, to))
}

// span returns the part of the text occupied by some characters.
func (p *pieces) span(from, to int) span { return span{p.start[from], p.end[to-1]} }
