package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/workspace"
)

// fileMark stands where a file is cut. It has fewer characters than what the shares of beginning and end leave of leastOfFile.
func fileMark(e *workspace.Excerpt) string {
	return fmt.Sprintf("\n\n[... %s is cut here: read it for the rest of its %d bytes ...]\n\n", e.Name, e.Bytes)
}

// cutMark stands where a message is cut.
const cutMark = "\n[... cut here ...]\n"

// shorten cuts a text in its middle so that it has at most so many tokens.
func shorten(text string, tokens int) string {
	if llm.EstimateTokens(text) <= tokens {
		return text
	}
	left := tokens - llm.EstimateTokens(cutMark)
	if left < 2*llm.EstimateTokens(cutMark) {
		return prefixOf(text, tokens)
	}
	end := left / 4
	return prefixOf(text, left-end) + cutMark + suffixOf(text, end)
}

// prefixOf is the beginning of a text that has at most so many tokens.
func prefixOf(text string, tokens int) string {
	quarters := 4 * tokens
	for i, r := range text {
		if quarters -= weight(r); quarters < 0 {
			return text[:i]
		}
	}
	return text
}

// suffixOf is the end of a text that has at most so many tokens.
func suffixOf(text string, tokens int) string {
	quarters := 4 * tokens
	for end := len(text); end > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:end])
		if quarters -= weight(r); quarters < 0 {
			return text[end:]
		}
		end -= size
	}
	return text
}

// weight is how many quarters of a token a character is taken for.
func weight(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	return 4
}

// firstOf and lastOf are so many characters of a text, at its beginning and at its end.
func firstOf(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func lastOf(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// line makes one line of bounded length of a name that comes from a configuration.
func line(s string) string {
	const most = 100
	return firstOf(strings.Join(strings.Fields(s), " "), most)
}
