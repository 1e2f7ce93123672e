package console

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// check finds the only statement of a text, and refuses what is none, more than one, or of a kind that only changes things, before SQLite sees it.
// begin is where the statement does, in bytes.
func check(text string) (statement string, begin int, err error) {
	switch {
	case len(text) > MaxStatement:
		return "", 0, &LimitError{What: fmt.Sprintf("the statement has %d bytes", len(text)), Mend: fmt.Sprintf("a statement may have %d", MaxStatement)}
	case strings.IndexByte(text, 0) >= 0:
		return "", 0, &RefusedError{What: "a NUL byte in the statement", Mend: "send text; char(0) makes one"}
	case !utf8.ValidString(text):
		return "", 0, &RefusedError{What: "a statement that is not in UTF-8", Mend: "send the statement in UTF-8"}
	}
	statement, rest := Cut(text)
	for isBlank(statement) && rest != "" {
		begin += len(statement) + 1
		statement, rest = Cut(rest)
	}
	switch word := firstWord(statement); {
	case isBlank(statement):
		return "", 0, &SyntaxError{Message: "there is no statement"}
	case !isBlank(rest):
		return "", 0, &RefusedError{What: "more than one statement", Mend: "ask one question at a time"}
	case changing[word]:
		return "", 0, &RefusedError{What: word, Mend: onlyQuestions}
	}
	return statement, begin, nil
}

// changing are the first words of statements that are no questions.
var changing = map[string]bool{
	"ALTER": true, "ANALYZE": true, "ATTACH": true, "BEGIN": true, "COMMIT": true, "CREATE": true, "DELETE": true, "DETACH": true, "DROP": true,
	"END": true, "INSERT": true, "PRAGMA": true, "REINDEX": true, "RELEASE": true, "REPLACE": true, "ROLLBACK": true, "SAVEPOINT": true,
	"UPDATE": true, "VACUUM": true,
}

// Cut takes the first statement off a text, without its semicolon. Whole texts, names and comments are passed over as SQLite does.
func Cut(text string) (statement, rest string) {
	for i := 0; i < len(text); {
		if text[i] == ';' {
			return text[:i], text[i+1:]
		}
		n, _ := token(text[i:])
		i += n
	}
	return text, ""
}

// Complete reports whether a text ends a statement: with a semicolon that stands in no text, name or comment.
func Complete(text string) bool {
	ended := false
	for i := 0; i < len(text); {
		n, kind := token(text[i:])
		switch {
		case text[i] == ';':
			ended = true
		case kind == open:
			return false
		case kind != blank:
			ended = false
		}
		i += n
	}
	return ended
}

func isBlank(text string) bool {
	for i := 0; i < len(text); {
		n, kind := token(text[i:])
		if kind != blank && text[i] != ';' {
			return false
		}
		i += n
	}
	return true
}

// firstWord is the first word of a statement, in capitals; "" where it begins otherwise.
func firstWord(text string) string {
	for i := 0; i < len(text); {
		n, kind := token(text[i:])
		switch kind {
		case blank:
			i += n
		case word:
			return strings.ToUpper(text[i : i+n])
		default:
			return ""
		}
	}
	return ""
}

// kinds of tokens, as far as they matter where a statement ends.
type kind int

const (
	other kind = iota
	blank      // space, or a comment
	word
	quoted // a text or a name
	open   // a text, a name or a comment that is not ended
)

// token measures the first token of a text that is not empty.
func token(text string) (bytes int, of kind) {
	switch c := text[0]; {
	case strings.IndexByte(" \t\r\n\f", c) >= 0:
		return 1, blank
	case strings.HasPrefix(text, "--"):
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			return i + 1, blank
		}
		return len(text), blank
	case strings.HasPrefix(text, "/*"):
		if i := strings.Index(text[2:], "*/"); i >= 0 {
			return i + 4, blank
		}
		return len(text), open
	case c == '\'' || c == '"' || c == '`':
		return quotation(text, c)
	case c == '[':
		if i := strings.IndexByte(text, ']'); i >= 0 {
			return i + 1, quoted
		}
		return len(text), open
	case inWord(c):
		n := 1
		for n < len(text) && inWord(text[n]) {
			n++
		}
		return n, word
	}
	return 1, other
}

// quotation measures what stands between two quotes; doubled, one stands for itself.
func quotation(text string, quote byte) (bytes int, of kind) {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1, quoted
		}
	}
	return len(text), open
}

func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
