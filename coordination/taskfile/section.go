package taskfile

import (
	"strings"
	"unicode"
)

// Section is a heading of a file with what stands below it, all as written.
type Section struct {
	Heading string   // the whole line; "" for what stands before the first heading
	Lines   []string // without "\n"
}

// Sections parts a text before each line that begins with "## ". The first section is what stands before all of them.
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

// Join undoes Sections.
func Join(sections []Section) string {
	var lines []string
	for i := range sections {
		if i > 0 {
			lines = append(lines, sections[i].Heading)
		}
		lines = append(lines, sections[i].Lines...)
	}
	return strings.Join(lines, "\n")
}

// Name is the heading's text in lower case.
func (s *Section) Name() string {
	return strings.ToLower(trim(strings.TrimPrefix(trim(s.Heading), "##")))
}

// content is what a section says: its lines, trimmed, without blank ones and those that only part or sign a file.
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

// field reads "**Key:** value", which may stand in a list. The value is not blank, and as written.
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

// items reads the lines of a list.
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

// isSpace reports what ECMAScript takes for white space, which includes a byte order mark and not U+0085.
func isSpace(r rune) bool { return r == '\uFEFF' || unicode.IsSpace(r) && r != '\u0085' }
