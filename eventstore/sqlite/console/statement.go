package console

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// check finds the only statement of a text, and refuses an empty text, several statements, and statements that only
// change things, before SQLite sees them. begin is the statement's byte offset.
func check(text string) (statement string, begin int, err error) {
	switch {
	case len(text) > MaxStatement:
		return "", 0, &LimitError{What: fmt.Sprintf("the statement has %d bytes", len(text)), HintText: fmt.Sprintf("a statement may have at most %d", MaxStatement)}
	case strings.IndexByte(text, 0) >= 0:
		return "", 0, &RefusedError{What: "a NUL byte in the statement", HintText: "send text; char(0) makes a NUL"}
	case !utf8.ValidString(text):
		return "", 0, &RefusedError{What: "a statement that is not UTF-8", HintText: "send the statement in UTF-8"}
	}
	statement, rest := Cut(text)
	for isBlank(statement) && rest != "" {
		begin += len(statement) + 1
		statement, rest = Cut(rest)
	}
	switch word := firstWord(statement); {
	case isBlank(statement):
		return "", 0, &SyntaxError{Message: "the statement is empty"}
	case !isBlank(rest):
		return "", 0, &RefusedError{What: "more than one statement", HintText: "send one statement at a time"}
	case changing[word]:
		return "", 0, &RefusedError{What: word, HintText: onlyQuestions}
	}
	return statement, begin, nil
}

// changing are the first words of statements that are not queries.
var changing = map[string]bool{
	"ALTER": true, "ANALYZE": true, "ATTACH": true, "BEGIN": true, "COMMIT": true, "CREATE": true, "DELETE": true, "DETACH": true, "DROP": true,
	"END": true, "INSERT": true, "PRAGMA": true, "REINDEX": true, "RELEASE": true, "REPLACE": true, "ROLLBACK": true, "SAVEPOINT": true,
	"UPDATE": true, "VACUUM": true,
}

// Cut splits the first statement off a text, without its semicolon. String literals, quoted names and comments are
// skipped as in SQLite.
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

// Complete reports whether a text ends a statement: with a semicolon outside of literals, quoted names and comments.
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

// firstWord returns the first word of a statement in upper case; "" if it does not start with one.
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

// kind is a kind of token, as far as it matters for finding the end of a statement.
type kind int

const (
	other kind = iota
	blank      // space or a comment
	word
	quoted // a literal or a quoted name
	open   // an unterminated literal, quoted name or comment
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

// quotation measures a quoted token; a doubled quote stands for itself.
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
