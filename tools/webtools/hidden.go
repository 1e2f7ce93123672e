package webtools

import (
	"slices"
	"strings"
)

// hiddenTags are elements whose content is not read.
var hiddenTags = []string{"script", "style", "noscript", "template", "svg", "head"}

// withoutHidden replaces comments and hidden elements by blanks. What has no end stays. It looks at each byte a bounded number of times, since a
// search that has failed once is not repeated.
func withoutHidden(page string) string {
	s := hiddenScanner{lower: lowerASCII(page), endless: map[string]bool{}}
	var b strings.Builder
	at, kept := 0, 0
	for {
		next := strings.IndexByte(s.lower[at:], '<')
		if next < 0 {
			break
		}
		at += next
		if end := s.end(at); end > 0 {
			b.WriteString(page[kept:at] + " ")
			at, kept = end, end
		} else {
			at++
		}
	}
	b.WriteString(page[kept:])
	return b.String()
}

// lowerASCII keeps positions, as the lower case of other letters may not.
func lowerASCII(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// hiddenScanner finds the ends of what is hidden. Positions only grow.
type hiddenScanner struct {
	lower   string
	endless map[string]bool // what has no end in the rest of the page
}

// end is where the comment or hidden element that begins at a position ends; 0 if there is none.
func (s *hiddenScanner) end(at int) int {
	if strings.HasPrefix(s.lower[at:], "<!--") {
		return s.after(at+len("<!--"), "-->")
	}
	tail := s.lower[at+1:]
	i := slices.IndexFunc(hiddenTags, func(tag string) bool { return strings.HasPrefix(tail, tag) && !continues(tail[len(tag):]) })
	if i < 0 {
		return 0
	}
	tag := hiddenTags[i]
	inside := s.after(at+1+len(tag), ">")
	if inside == 0 || s.endless[tag] {
		return 0
	}
	for from := inside; ; {
		closing := s.after(from, "</"+tag)
		if closing == 0 {
			s.endless[tag] = true
			return 0
		}
		if !continues(s.lower[closing:]) {
			return s.after(closing, ">")
		}
		from = closing
	}
}

// after is the position after the next occurrence of a text; 0 if there is none.
func (s *hiddenScanner) after(from int, text string) int {
	if s.endless[text] {
		return 0
	}
	at := strings.Index(s.lower[from:], text)
	if at < 0 {
		s.endless[text] = true
		return 0
	}
	return from + at + len(text)
}

// continues reports whether a name goes on, so that it is another name.
func continues(rest string) bool {
	if rest == "" {
		return false
	}
	c := rest[0]
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
