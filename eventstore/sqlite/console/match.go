package console

import (
	"strings"
	"unicode/utf8"
)

// pattern is a LIKE or GLOB pattern: elements that each match one character, in segments separated by wildcards.
type pattern struct {
	segments []segment // one segment for a pattern without a star
	never    bool      // malformed; matches nothing
	fold     bool      // ASCII letters match in either case
}

type segment struct {
	elements []element
	prefix   string // literal prefix of every match, in bytes; "" if there is none
}

// element matches one character.
type element struct {
	char rune
	any  bool
	set  *charSet // nil: char or any
}

// charSet is a bracket expression of GLOB.
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

// likePattern parses a LIKE pattern. escape is the escape character; 0 is none.
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

// globPattern parses a GLOB pattern.
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

// readSet parses a bracket expression after its opening bracket. A bracket or a dash that comes first is literal.
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

// begin finds the literal prefix of each segment's matches.
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

// at matches a segment at the beginning of a text, and returns how many bytes it consumes.
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

// lookEvery is the number of characters after which a search checks whether it must stop.
const lookEvery = 4_096

// matches reports whether a whole text matches the pattern. Its time is the length of the text times that of the
// longest segment; over may end it, and the result is then meaningless.
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

// find returns where the first match of a segment in a text ends, in bytes; negative if there is none.
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
