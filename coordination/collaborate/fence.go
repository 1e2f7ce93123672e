package collaborate

import "strings"

// fence is a code block in a text. Positions are of runes.
type fence struct {
	open, code  int    // beginning of its first mark, and of its code
	end, closed int    // end of its code, and of its last mark; both the end of the text if it is never closed
	language    string // "" if it names none
}

const (
	fenceMark   = "```"
	maxLanguage = 30
)

// fences returns the code blocks of a text, as Discord sees them: a mark opens one wherever it is, and the next one
// closes it. A single word after the mark on its line is the language.
func fences(runes []rune) (list []fence) {
	for at := nextMark(runes, 0); at < len(runes); {
		f := fence{open: at, code: at + len(fenceMark)}
		f.language, f.code = language(runes, f.code)
		f.end = nextMark(runes, f.code)
		f.closed = min(f.end+len(fenceMark), len(runes))
		list = append(list, f)
		at = nextMark(runes, f.closed)
	}
	return list
}

// nextMark returns where the next mark begins, or the end of the text.
func nextMark(runes []rune, from int) int {
	for i := from; i+len(fenceMark) <= len(runes); i++ {
		if runes[i] == '`' && runes[i+1] == '`' && runes[i+2] == '`' {
			return i
		}
	}
	return len(runes)
}

// language parses the rest of the line after a mark, and returns where the code begins.
func language(runes []rune, from int) (name string, code int) {
	for i := from; i < len(runes) && i-from <= maxLanguage; i++ {
		switch r := runes[i]; {
		case r == '\n':
			return string(runes[from:i]), i + 1
		case r >= 0x80 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.#", r):
			return "", from
		}
	}
	return "", from
}

// head reopens the block in the next message, and tail closes it in this one, which ends with a character.
func (f *fence) head() string { return fenceMark + f.language + "\n" }

func (f *fence) tail(last rune) string {
	if last == '\n' {
		return fenceMark
	}
	return "\n" + fenceMark
}
