package taskfile

import (
	"strings"
	"unicode"
)

// Section is a heading of a file with the lines below it, unchanged.
type Section struct {
	Heading string   // the whole line; "" before the first heading
	Lines   []string // without "\n"
}

// Sections splits a text before each line that begins with "## ". The first section is the text before all headings.
func Sections(text string) []Section {
	lines := strings.Split(text, "\n")
	sections := []Section{{}}
	start := 0
	for i, line := range lines {
		if strings.HasPrefix(trim(line), "## ") {
			sections[len(sections)-1].Lines = lines[start:i:i]
			sections = append(sections, Section{Heading: line})
			start = i + 1
		}
	}
	sections[len(sections)-1].Lines = lines[start:]
	return sections
}

// Name is the heading in lower case.
func (s *Section) Name() string {
	return strings.ToLower(trim(strings.TrimPrefix(trim(s.Heading), "##")))
}

// content returns the trimmed lines of a section, without blank lines, separators and signatures.
func (s *Section) content() []string {
	var content []string
	for _, line := range s.Lines {
		line = trim(line)
		if line == "" || strings.HasPrefix(line, "# Task:") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "*Managed by") {
			continue
		}
		content = append(content, line)
	}
	return content
}

// field parses "**Key:** value", also as a list item. The value is unchanged and not blank.
func field(line string) (key, value string, ok bool) {
	line = trim(strings.TrimPrefix(line, "-"))
	line, ok = strings.CutPrefix(line, "**")
	if !ok {
		return "", "", false
	}
	key, value, ok = strings.Cut(line, ":**")
	value = trim(value)
	return key, value, ok && value != ""
}

// items parses the lines of a list.
func items(lines []string) []string {
	list := []string{}
	for _, line := range lines {
		if item, ok := strings.CutPrefix(line, "- "); ok {
			list = append(list, readItem(trim(item)))
		}
	}
	return list
}

func trim(s string) string { return strings.TrimFunc(s, isSpace) }

// isSpace reports whether ECMAScript counts a character as white space: unlike in Go, U+FEFF is and U+0085 is not.
func isSpace(r rune) bool { return r == '\uFEFF' || unicode.IsSpace(r) && r != '\u0085' }
