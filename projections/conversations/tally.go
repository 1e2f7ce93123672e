package conversations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// The weight of an event's category in the vote of its session and thread, for each hundredth of confidence. Messages
// between agents decide; work on tasks and sub-agents counts a little; an event whose text matched nothing counts
// nothing. Integers, so that sums do not depend on rounding.
const (
	weightConversation = 10
	weightOther        = 2
	weightManual       = 30 // the producer named the category
)

// maxTags bounds the tags that are shown, maxTalliedTags those that are counted for each category.
const (
	maxTags        = 5
	maxTalliedTags = 12
)

// A category with this many hundredths of the winner's weight is a secondary one; there are at most maxSecondary.
const (
	secondaryShare = 35
	maxSecondary   = 3
)

// tally is a weighted vote on a category. The first event's fallback applies until there is a vote.
type tally struct {
	fallback coordination.Category
	votes    []vote
}

type vote struct {
	category coordination.Category
	weight   int64
	tags     []tagCount
}

type tagCount struct {
	tag string
	n   int64
}

// add counts the category of one event.
func (t *tally) add(c *coordination.Class) {
	if t.fallback == "" {
		t.fallback = c.Category
	}
	if c.Source == coordination.SourceFallback {
		return
	}
	weight := int64(weightOther)
	switch {
	case c.Source == coordination.SourceManual:
		weight = weightManual
	case c.Role == coordination.RoleConversation:
		weight = weightConversation
	}
	i := slices.IndexFunc(t.votes, func(v vote) bool { return v.category == c.Category })
	if i < 0 {
		t.votes = append(t.votes, vote{category: c.Category})
		i = len(t.votes) - 1
	}
	v := &t.votes[i]
	v.weight += weight * int64(math.Round(c.Confidence*100))
	for _, tag := range c.SubTags {
		if j := slices.IndexFunc(v.tags, func(n tagCount) bool { return n.tag == tag }); j >= 0 {
			v.tags[j].n++
		} else if len(v.tags) < maxTalliedTags {
			v.tags = append(v.tags, tagCount{tag, 1})
		}
	}
}

// first is the index of the winning vote, or -1. Ties go to the earliest vote.
func (t *tally) first() int {
	best := -1
	for i := range t.votes {
		if best < 0 || t.votes[i].weight > t.votes[best].weight {
			best = i
		}
	}
	return best
}

// winner is the category of the session or thread.
func (t *tally) winner() coordination.Category {
	if i := t.first(); i >= 0 {
		return t.votes[i].category
	}
	if t.fallback != "" {
		return t.fallback
	}
	return coordination.EngineeringBuild
}

// secondary lists the categories with a sufficient share besides the winner, strongest first.
func (t *tally) secondary() []coordination.Category {
	best := t.first()
	if best < 0 {
		return nil
	}
	ranked := slices.Delete(slices.Clone(t.votes), best, best+1)
	slices.SortStableFunc(ranked, func(a, b vote) int { return cmp.Compare(b.weight, a.weight) })
	var list []coordination.Category
	for _, v := range ranked {
		if len(list) < maxSecondary && 100*v.weight >= secondaryShare*t.votes[best].weight {
			list = append(list, v.category)
		}
	}
	return list
}

// tags lists the winner's tags, the most frequent first.
func (t *tally) tags() []string {
	best := t.first()
	if best < 0 {
		return nil
	}
	counts := slices.Clone(t.votes[best].tags)
	slices.SortStableFunc(counts, func(a, b tagCount) int { return cmp.Compare(b.n, a.n) })
	var list []string
	for _, c := range counts[:min(len(counts), maxTags)] {
		list = append(list, c.tag)
	}
	return list
}

// Verdict is the result of a vote: the winner, the secondary categories, and its sub-tags.
type Verdict struct {
	Winner    coordination.Category
	Secondary []coordination.Category
	SubTags   []string
}

// readVerdict parses the votes column of work_sessions or threads.
func readVerdict(votes string) (Verdict, error) {
	t, err := parseTally(votes)
	return Verdict{t.winner(), t.secondary(), t.tags()}, err
}

// format writes [fallback, [category, weight, tag, n, tag, n, ...], ...].
func (t *tally) format() string {
	b := append(make([]byte, 0, 128), '[')
	b = appendText(b, string(t.fallback))
	for _, v := range t.votes {
		b = append(b, ',', '[')
		b = appendText(b, string(v.category))
		b = append(b, ',')
		b = strconv.AppendInt(b, v.weight, 10)
		for _, c := range v.tags {
			b = append(b, ',')
			b = appendText(b, c.tag)
			b = append(b, ',')
			b = strconv.AppendInt(b, c.n, 10)
		}
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

// appendText writes a JSON string.
func appendText(b []byte, text string) []byte {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' || r == utf8.RuneError || r > 0xff00 }) {
		b = append(b, '"')
		b = append(b, text...)
		return append(b, '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return append(b, '"', '"') // texts always marshal
	}
	return append(b, quoted...)
}

// parseTally reads what format writes, and slowly any other JSON of the same values.
func parseTally(text string) (tally, error) {
	r := tallyReader{text: text}
	if t := r.tally(); !r.failed && r.text == "" {
		return t, nil
	}
	return parseAnyTally(text)
}

// tallyReader takes one token after the other from the beginning of text.
type tallyReader struct {
	text   string
	failed bool
}

func (r *tallyReader) tally() (t tally) {
	r.take('[')
	t.fallback = coordination.Category(r.name())
	for r.goesOn() {
		r.take('[')
		v := vote{category: coordination.Category(r.name())}
		r.take(',')
		v.weight = r.number()
		for r.goesOn() {
			c := tagCount{tag: r.name()}
			r.take(',')
			c.n = r.number()
			v.tags = append(v.tags, c)
		}
		t.votes = append(t.votes, v)
	}
	return t
}

func (r *tallyReader) take(c byte) {
	if r.failed = r.failed || r.text == "" || r.text[0] != c; !r.failed {
		r.text = r.text[1:]
	}
}

// goesOn takes what follows an element of a list: a comma, or the list's end.
func (r *tallyReader) goesOn() bool {
	if !r.failed && r.text != "" && r.text[0] == ',' {
		r.text = r.text[1:]
		return true
	}
	r.take(']')
	return false
}

// name takes a string without escapes.
func (r *tallyReader) name() string {
	r.take('"')
	end := strings.IndexAny(r.text, `"\\`)
	if r.failed = r.failed || end < 0 || r.text[end] != '"'; r.failed {
		return ""
	}
	name := r.text[:end]
	r.text = r.text[end+1:]
	return name
}

func (r *tallyReader) number() int64 {
	end := strings.IndexAny(r.text, ",]")
	if r.failed = r.failed || end < 0; r.failed {
		return 0
	}
	n, err := strconv.ParseInt(r.text[:end], 10, 64)
	r.failed, r.text = err != nil, r.text[end:]
	return n
}

func parseAnyTally(text string) (tally, error) {
	var t tally
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil || len(parts) == 0 {
		return t, fmt.Errorf("votes %.60q: %w", text, cmp.Or(err, errNoTally))
	}
	if err := json.Unmarshal(parts[0], &t.fallback); err != nil {
		return t, err
	}
	for _, part := range parts[1:] {
		var fields []json.RawMessage
		if err := json.Unmarshal(part, &fields); err != nil || len(fields) < 2 {
			return t, fmt.Errorf("vote %.60q: %w", part, cmp.Or(err, errNoTally))
		}
		var v vote
		if err := cmp.Or(json.Unmarshal(fields[0], &v.category), json.Unmarshal(fields[1], &v.weight)); err != nil {
			return t, err
		}
		for pair := range slices.Chunk(fields[2:], 2) {
			var c tagCount
			if len(pair) != 2 {
				return t, errNoTally
			}
			if err := cmp.Or(json.Unmarshal(pair[0], &c.tag), json.Unmarshal(pair[1], &c.n)); err != nil {
				return t, err
			}
			v.tags = append(v.tags, c)
		}
		t.votes = append(t.votes, v)
	}
	return t, nil
}

var errNoTally = fmt.Errorf("not a tally of votes")
