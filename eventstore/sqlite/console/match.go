package console

import (
	"strings"
	"unicode/utf8"
)

// pattern is one of LIKE or GLOB: elements that each match one character, in segments with anything between them.
type pattern struct {
	segments []segment // one for a pattern without a star
	never    bool      // it is broken, and matches nothing
	fold     bool      // letters of ASCII match in either case
}

type segment struct {
	elements []element
	prefix   string // how every match begins, in bytes; "" where that cannot be said
}

// element matches one character.
type element struct {
	char rune
	any  bool
	set  *charSet // nil: char or any
}

// charSet is what stands in the brackets of GLOB.
type charSet struct {
	ranges [][2]rune
	not    bool
}

func (s *charSet) has(r rune) bool {
	for _, between := range s.ranges {
		if between[0] <= r && r <= between[1] {
			return !s.not
		}
	}
	return s.not
}

// likePattern reads a pattern of LIKE. escape takes the meaning from what follows it; 0 is none.
func likePattern(text string, escape rune) pattern {
	p := pattern{fold: true, segments: make([]segment, 1)}
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		switch {
		case escape != 0 && r == escape:
			if rest == "" {
				p.never = true
				break
			}
			r, n = utf8.DecodeRuneInString(rest)
			rest = rest[n:]
			p.add(element{char: r})
		case r == '%':
			p.segments = append(p.segments, segment{})
		case r == '_':
			p.add(element{any: true})
		default:
			p.add(element{char: r})
		}
	}
	p.begin()
	return p
}

// globPattern reads a pattern of GLOB.
func globPattern(text string) pattern {
	p := pattern{segments: make([]segment, 1)}
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		switch r {
		case '*':
			p.segments = append(p.segments, segment{})
		case '?':
			p.add(element{any: true})
		case '[':
			set, after, whole := readSet(rest)
			if !whole {
				p.never = true
			}
			p.add(element{set: set})
			rest = after
		default:
			p.add(element{char: r})
		}
	}
	p.begin()
	return p
}

// readSet reads what stands between brackets, the first of which is read. A bracket or a dash that comes first stands for itself.
func readSet(text string) (set *charSet, rest string, whole bool) {
	set = &charSet{}
	text, set.not = strings.CutPrefix(text, "^")
	var last rune
	for first := true; text != ""; first = false {
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		switch {
		case r == ']' && !first:
			return set, text, true
		case r == '-' && last != 0 && text != "" && text[0] != ']':
			r, n = utf8.DecodeRuneInString(text)
			text = text[n:]
			set.ranges, last = append(set.ranges, [2]rune{last, r}), 0
		default:
			set.ranges, last = append(set.ranges, [2]rune{r, r}), r
		}
	}
	return set, "", false
}

func (p *pattern) add(e element) {
	last := &p.segments[len(p.segments)-1]
	last.elements = append(last.elements, e)
}

// begin finds how the matches of each segment begin.
func (p *pattern) begin() {
	for i := range p.segments {
		var prefix strings.Builder
		for _, e := range p.segments[i].elements {
			if e.any || e.set != nil || e.char == utf8.RuneError || p.fold && isLetter(e.char) {
				break
			}
			prefix.WriteRune(e.char)
		}
		p.segments[i].prefix = prefix.String()
	}
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// at matches a segment where a text begins, and says how many bytes that takes.
func (p *pattern) at(s *segment, text string) (bytes int, matches bool) {
	for i := range s.elements {
		e := &s.elements[i]
		if bytes == len(text) {
			return 0, false
		}
		r, n := rune(text[bytes]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[bytes:])
		}
		bytes += n
		switch {
		case e.any:
		case e.set != nil:
			if !e.set.has(r) {
				return 0, false
			}
		case r != e.char && (!p.fold || lower(r) != lower(e.char)):
			return 0, false
		}
	}
	return bytes, true
}

// lookEvery is after how many characters a search asks whether it may go on.
const lookEvery = 4_096

// matches reports whether a whole text is like the pattern. It takes time by the length of the text times that of the longest segment, in which
// over ends it; what it says then is nothing.
func (p *pattern) matches(text string, over func() bool) bool {
	if p.never {
		return false
	}
	n, begins := p.at(&p.segments[0], text)
	if !begins {
		return false
	}
	text = text[n:]
	if len(p.segments) == 1 {
		return text == ""
	}
	last := len(p.segments) - 1
	for i := 1; i < last; i++ {
		after := p.find(&p.segments[i], text, over)
		if after < 0 {
			return false
		}
		text = text[after:]
	}
	tail := text
	for range p.segments[last].elements {
		_, n := utf8.DecodeLastRuneInString(tail)
		if n == 0 {
			return false
		}
		tail = tail[:len(tail)-n]
	}
	n, ends := p.at(&p.segments[last], text[len(tail):])
	return ends && len(tail)+n == len(text)
}

// find is where the first match of a segment in a text ends, in bytes; negative for none.
func (p *pattern) find(s *segment, text string, over func() bool) int {
	for at, looked := 0, 0; ; looked++ {
		if s.prefix != "" {
			skip := strings.Index(text[at:], s.prefix)
			if skip < 0 {
				return -1
			}
			at += skip
		}
		if n, found := p.at(s, text[at:]); found {
			return at + n
		}
		if at == len(text) || looked%lookEvery == lookEvery-1 && over() {
			return -1
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
}
