package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/workspace"
)

// fileMark replaces the middle of a cut file. It fits into what headShare and tailShare leave of leastOfFile.
func fileMark(e *workspace.Excerpt) string {
	return fmt.Sprintf("\n\n[... %s is cut here: read it for the rest of its %d bytes ...]\n\n", e.Name, e.Bytes)
}

// cutMark replaces the middle of a cut message.
const cutMark = "\n[... cut here ...]\n"

// shorten cuts a text in its middle to at most so many tokens.
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

// prefixOf is the longest beginning of a text with at most so many tokens.
func prefixOf(text string, tokens int) string {
	quarters := 4 * tokens
	for i, r := range text {
		if quarters -= weight(r); quarters < 0 {
			return text[:i]
		}
	}
	return text
}

// suffixOf is the longest end of a text with at most so many tokens.
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

// weight is the estimated size of a character in quarters of a token.
func weight(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	return 4
}

// firstOf and lastOf are the first and the last n characters of a text.
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

// line turns a configured name into one line of bounded length.
func line(s string) string {
	const most = 100
	return firstOf(strings.Join(strings.Fields(s), " "), most)
}
