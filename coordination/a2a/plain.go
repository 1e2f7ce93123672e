package a2a

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Plain removes leading lines of directives such as [[reply_to_current]], unless there is nothing else.
func Plain(text string) string {
	rest, found := text, false
	for {
		line, after, _ := strings.Cut(rest, "\n")
		switch line = coordination.TrimJS(line); {
		case isDirective(line):
			found = true
		case line != "" || after == "":
			if !found || coordination.TrimJS(rest) == "" {
				return text
			}
			return rest
		}
		rest = after
	}
}

// isDirective reports whether a line is a word in double brackets.
func isDirective(line string) bool {
	word, opened := strings.CutPrefix(line, "[[")
	word, closed := strings.CutSuffix(word, "]]")
	return opened && closed && word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_:-", r)
	})
}

// Cut shortens a text for an event: without directives, secrets masked, at most n characters, without separating
// combining marks. Nothing is added, but invalid UTF-8 is replaced.
func Cut(text string, n int) string {
	return strings.ToValidUTF8(coordination.Head(coordination.Mask(bounded(Plain(text), maxRead)), n), "\uFFFD")
}

// maxRead bounds the bytes of a text read for an event.
const maxRead = 64 << 10

// bounded cuts a text to so many bytes between two words, so that no part of a secret is mistaken for something else.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most]
	if blank := strings.LastIndexAny(text, " \t\r\n"); blank > 0 {
		return text[:blank]
	}
	return strings.ToValidUTF8(text, "")
}
