package taskfile

import (
	"strings"
	"unicode/utf8"
)

// Texts are written as they are, except where they would be lost or misread: such a place gets an invisible character that is not white
// space, so other programs still read the visible text. Each reader here undoes its writer exactly. Texts are valid UTF-8.
const shield = "\u200B" // ZERO WIDTH SPACE

// writeText writes a text on lines of its own. isPart reports whether a line would be read as a part of the file.
func writeText(text string, isPart func(line string) bool) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = guardEnds(noTask.split(line), isPart(line))
	}
	return strings.Join(lines, "\n")
}

// readLine undoes writeText for one line.
func readLine(line string) string { return noTask.join(bareEnds(line)) }

func readLines(lines []string) []string {
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = readLine(line)
	}
	return texts
}

// writeItem writes a text on one line, after something else.
func writeItem(text string) string { return guardEnds(noTask.split(foldLines(text)), false) }

// readItem undoes writeItem.
func readItem(line string) string { return unfoldLines(noTask.join(bareEnds(line))) }

// writeCurrentItem is writeItem for CURRENT_TASK.md.
func writeCurrentItem(text string) string {
	for _, m := range currentMarks {
		text = m.split(text)
	}
	return writeItem(text)
}

// readCurrentItem undoes writeCurrentItem.
func readCurrentItem(line string) string {
	text := readItem(line)
	for i := len(currentMarks) - 1; i >= 0; i-- {
		text = currentMarks[i].join(text)
	}
	return text
}

// isTaskPart reports whether a line would be read as a separator or signature of a task file.
func isTaskPart(line string) bool {
	for _, beginning := range [...]string{"## ", "---", "*Managed by", "# Task:"} {
		if strings.HasPrefix(line, beginning) {
			return true
		}
	}
	return false
}

// isEntryPart is isTaskPart for entries of a month.
func isEntryPart(line string) bool { return isTaskPart(line) || strings.HasPrefix(line, "### ") }

// guardEnds protects the ends of a line from trimming, a blank line from being dropped, and the start of a line from being misread.
func guardEnds(line string, front bool) string {
	begins := front || line == "" || strings.HasPrefix(line, shield) || strings.TrimLeftFunc(line, isSpace) != line
	ends := strings.HasSuffix(line, shield) || strings.TrimRightFunc(line, isSpace) != line
	if begins {
		line = shield + line
	}
	if ends {
		line += shield
	}
	return line
}

func bareEnds(line string) string {
	return strings.TrimSuffix(strings.TrimPrefix(line, shield), shield)
}

// mark is a text with a meaning anywhere in a file, in two parts; a shield between them removes the meaning.
type mark struct{ head, tail string }

var noTask = mark{"*(", "No task)*"}

var currentMarks = [...]mark{
	{"No ", "task in progress"}, {"No ", "active focus"}, {"*(", "Last task ended with error)*"}, {"**Task:", "**"}, {"**Focus:", "**"},
}

// split adds one shield between the parts, wherever they occur.
func (m mark) split(text string) string {
	return m.change(text, func(shields string) string { return shields + shield })
}

// join undoes split.
func (m mark) join(text string) string {
	return m.change(text, func(shields string) string { return strings.TrimSuffix(shields, shield) })
}

func (m mark) change(text string, change func(shields string) string) string {
	if !strings.Contains(text, m.head) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, m.head)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(m.head)
		text = strings.TrimLeft(after, shield)
		shields := after[:len(after)-len(text)]
		if strings.HasPrefix(text, m.tail) {
			shields = change(shields)
		}
		b.WriteString(shields)
	}
}

// signs replace, after a shield, what ends a line: "\n" and the other ECMAScript line terminators.
var signs = [...]struct{ end, sign rune }{{'\n', '⏎'}, {'\r', '␍'}, {'\u2028', '␤'}, {'\u2029', '¶'}}

// foldLines writes a text on one line. Shields before an original sign are doubled, so their number is even; before a sign that replaces
// a line end they are doubled plus one.
func foldLines(text string) string {
	if !strings.ContainsAny(text, shield+"\n\r\u2028\u2029") {
		return text
	}
	return eachRun(text, func(shields int, next rune) (int, rune) {
		for _, s := range signs {
			switch next {
			case s.end:
				return 2*shields + 1, s.sign
			case s.sign:
				return 2 * shields, next
			}
		}
		return shields, next
	})
}

// unfoldLines undoes foldLines.
func unfoldLines(line string) string {
	if !strings.Contains(line, shield) {
		return line
	}
	return eachRun(line, func(shields int, next rune) (int, rune) {
		for _, s := range signs {
			if next == s.sign && shields%2 == 1 {
				return shields / 2, s.end
			}
			if next == s.sign {
				return shields / 2, next
			}
		}
		return shields, next
	})
}

// eachRun replaces each character of a text together with the shields before it.
func eachRun(text string, change func(shields int, next rune) (int, rune)) string {
	var b strings.Builder
	shields := 0
	for text != "" {
		next, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if string(next) == shield {
			shields++
			continue
		}
		shields, next = change(shields, next)
		b.WriteString(strings.Repeat(shield, shields))
		b.WriteRune(next)
		shields = 0
	}
	b.WriteString(strings.Repeat(shield, shields))
	return b.String()
}
