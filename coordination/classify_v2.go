package coordination

import (
	"slices"
	"strings"
	"sync"
)

// scanLimit limits the bytes of a field searched for concepts. Messages state their topic early; the rest of a long paste only adds
// noise.
const scanLimit = 8 << 10

// concepts is the table with the automaton that finds its words, built on first use.
var concepts = sync.OnceValue(newConceptList)

type conceptList struct {
	tags    []string
	weights []int16
	rows    []int
	phrases []phrase
	match   *matcher
}

// phrase is one way to write a concept.
type phrase struct {
	concept int16 // an index, or one of the two below
	length  int32 // bytes
	// An ASCII phrase must begin and end at a word boundary; Hangul may continue.
	asciiStart, asciiEnd bool
}

const (
	noConcept    int16 = -1 // hides the words inside it
	compoundPart int16 = -2 // may be followed by another word of a compound
)

func newConceptList() *conceptList {
	l := &conceptList{}
	var texts []string
	add := func(concept int16, alternatives ...string) {
		for _, text := range alternatives {
			texts = append(texts, text)
			l.phrases = append(l.phrases, phrase{
				concept: concept, length: int32(len(text)), asciiStart: text[0] < 0x80, asciiEnd: text[len(text)-1] < 0x80,
			})
		}
	}
	for row := range conceptTable {
		for _, c := range conceptTable[row] {
			number := int16(len(l.tags))
			l.tags, l.weights, l.rows = append(l.tags, c.tag), append(l.weights, c.weight), append(l.rows, row)
			for _, verb := range alternatives(c.verbs) {
				add(number, conjugate(verb)...)
			}
			for _, noun := range alternatives(c.nouns) {
				add(number, noun, plural(noun))
			}
			add(number, alternatives(c.words)...)
			add(number, alternatives(c.korean)...)
		}
	}
	add(noConcept, alternatives(misleading)...)
	add(compoundPart, alternatives(compoundParts)...)
	l.match = newMatcher(texts, foldSeparators)
	return l
}

func alternatives(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, "|")
}

// foldSeparators joins the parts of a phrase by any white space or a hyphen.
func foldSeparators(b byte) byte {
	switch b {
	case '\t', '\n', '\r', '-':
		return ' '
	}
	return b
}

// conjugate lists the forms of a regular English verb. In a phrasal verb the first word changes.
func conjugate(verb string) []string {
	stem, rest, phrasal := strings.Cut(verb, " ")
	if phrasal {
		rest = " " + rest
	}
	past, present := stem+"ed", stem+"ing"
	switch {
	case strings.HasSuffix(stem, "e"):
		past, present = stem+"d", stem[:len(stem)-1]+"ing"
	case endsInConsonantY(stem):
		past = stem[:len(stem)-1] + "ied"
	}
	return []string{verb, plural(stem) + rest, past + rest, present + rest}
}

// plural adds the regular ending to a noun, or to a verb for its third person.
func plural(word string) string {
	switch {
	case endsInConsonantY(word):
		return word[:len(word)-1] + "ies"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "sh"):
		return word + "es"
	}
	return word + "s"
}

func endsInConsonantY(word string) bool {
	return len(word) > 1 && word[len(word)-1] == 'y' && !strings.ContainsRune("aeiou", rune(word[len(word)-2]))
}

// scanConcepts finds concepts in prose: never in ids, type names, URLs or fenced code. A concept in a heading counts
// one more.
func scanConcepts(r *Record) Scan {
	var s Scan
	list := concepts()
	for _, heading := range [...]string{r.Label, r.Title, r.CollabIntent} {
		list.find(heading, &s.hits)
	}
	s.hits.each(func(term int) bool {
		s.scores[list.rows[term]]++
		return true
	})
	long, short := r.Message, strings.TrimRight(r.ReplyPreview, ".… ")
	if len(short) > len(long) {
		long, short = r.ReplyPreview, strings.TrimRight(r.Message, ".… ")
	}
	if strings.HasPrefix(long, short) {
		short = ""
	}
	for _, body := range [...]string{long, short, r.Description, r.Summary, r.Reason} {
		list.find(body, &s.hits)
	}
	s.hits.each(func(term int) bool {
		s.scores[list.rows[term]] += list.weights[term]
		return true
	})
	return s
}

// find adds the concepts of a text to hits.
func (l *conceptList) find(text string, hits *termSet) {
	if len(text) > scanLimit {
		text = text[:scanLimit]
	}
	m, state := l.match, 0
	f := finder{list: l, text: text, hits: hits}
	for i := 0; i < len(text); i++ {
		b := text[i]
		if b == ':' && strings.HasPrefix(text[i:], "://") || b == '`' && strings.HasPrefix(text[i:], "```") {
			i += opaque(text[i:]) - 1
			state = 0
			continue
		}
		state = int(m.next[state*m.columns+int(m.class[b])])
		if accept := m.accept[state]; accept != 0 {
			f.found(m.ends[accept], int32(i+1))
		}
	}
	f.commit()
}

// opaque is the length of a URL or fenced code at the start of text.
func opaque(text string) int {
	if text[0] == '`' {
		if end := strings.Index(text[3:], "```"); end >= 0 {
			return end + 6
		}
		return len(text)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x80 {
			return i
		}
	}
	return len(text)
}

// finder holds phrases back until no longer phrase can hide them.
type finder struct {
	list *conceptList
	text string
	hits *termSet

	held  [32]span // by end, none inside another
	count int
	// ends are the ends of the latest known Korean words: a compound may continue there.
	ends [4]int32
}

type span struct {
	start, end int32
	concept    int16
}

// found handles the phrases that end at end, longest first.
func (f *finder) found(numbers []uint16, end int32) {
	for _, number := range numbers {
		p := &f.list.phrases[number]
		start := end - p.length
		if !f.beginsWord(p, start) || p.asciiEnd && int(end) < len(f.text) && isWordByte(f.text[end]) {
			continue
		}
		if !p.asciiEnd {
			copy(f.ends[1:], f.ends[:3])
			f.ends[0] = end
		}
		if p.concept != compoundPart {
			f.keep(span{start, end, p.concept})
		}
	}
}

func (f *finder) beginsWord(p *phrase, start int32) bool {
	if start == 0 {
		return true
	}
	if p.asciiStart {
		return !isWordByte(f.text[start-1])
	}
	return !endsInHangul(f.text[:start]) || slices.Contains(f.ends[:], start)
}

// keep keeps a span unless it is inside a held one, and drops those inside it.
func (f *finder) keep(s span) {
	for f.count > 0 && f.held[f.count-1].start >= s.start {
		if last := f.held[f.count-1]; last.start == s.start && last.end == s.end {
			break
		}
		f.count--
	}
	if f.count > 0 && f.held[f.count-1].start <= s.start && f.held[f.count-1].end >= s.end {
		return
	}
	if f.count == len(f.held) {
		f.commit()
	}
	f.held[f.count] = s
	f.count++
}

func (f *finder) commit() {
	for _, s := range f.held[:f.count] {
		if s.concept >= 0 {
			f.hits.add(int(s.concept))
		}
	}
	f.count = 0
}

func isWordByte(b byte) bool {
	b = lowerASCII(b)
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_'
}

// endsInHangul reports whether text ends in a Hangul syllable: three bytes, U+AC00 to U+D7A3.
func endsInHangul(text string) bool {
	n := len(text)
	return n >= 3 && text[n-3] >= 0xEA && text[n-3] <= 0xED && text[n-2] >= 0x80 && text[n-1] >= 0x80 && text[n-1] < 0xC0 && text[n-2] < 0xC0
}

// conceptTags are the concepts found of the row, highest weight first, with the resulting source.
func (s *Scan) conceptTags(row int) (Source, []string) {
	var found []int
	list := concepts()
	s.hits.each(func(term int) bool {
		if list.rows[term] == row {
			found = append(found, term)
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b int) int { return int(list.weights[b]) - int(list.weights[a]) })
	source := SourceHeuristic
	if list.weights[found[0]] >= typical {
		source = SourceRule
	}
	tags := make([]string, 0, tagsPerEvent)
	for _, term := range found[:min(len(found), tagsPerEvent)] {
		tags = append(tags, list.tags[term])
	}
	return source, tags
}
