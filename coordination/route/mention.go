package route

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxMention is more than the bytes of a mention after its beginning.
const maxMention = 32

// spoken returns a text without code and quotes; each leaves a space. Escaped characters are removed as well.
func spoken(text string) string {
	if !strings.ContainsAny(text, "`>\\") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	unclosed := map[string]bool{} // fences that nothing closes from here on
	for lineBegins := true; text != ""; {
		if lineBegins {
			if rest, quoted := cutQuote(text); quoted {
				text = rest
				b.WriteByte('\n')
				continue
			}
		}
		lineBegins = text[0] == '\n'
		switch {
		case text[0] == '\\' && len(text) > 1 && isPunctuation(text[1]):
			b.WriteByte(' ')
			text = text[2:]
		case text[0] == '`':
			n := len(text) - len(strings.TrimLeft(text, "`"))
			fence := text[:n]
			rest, closed := "", false
			if !unclosed[fence] {
				rest, closed = cutCode(text[n:], fence)
			}
			if !closed {
				unclosed[fence] = true
				b.WriteString(fence)
				text = text[n:]
				continue
			}
			b.WriteByte(' ')
			text = rest
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}

// cutQuote removes a quoted line from the beginning of a text, or all of it after ">>>".
func cutQuote(text string) (rest string, quoted bool) {
	line := strings.TrimLeft(text, " ")
	if after, ok := strings.CutPrefix(line, ">>>"); ok && (after == "" || after[0] == ' ' || after[0] == '\n') {
		return "", true
	}
	after, ok := strings.CutPrefix(line, ">")
	if !ok || after != "" && after[0] != ' ' && after[0] != '\n' {
		return text, false
	}
	_, rest, _ = strings.Cut(line, "\n")
	return rest, true
}

// cutCode finds the fence that closes code: three or more close with three, fewer with as many.
func cutCode(text, fence string) (rest string, closed bool) {
	if len(fence) >= 3 {
		_, rest, closed = strings.Cut(text, "```")
		return rest, closed
	}
	for from := 0; ; {
		at := strings.IndexByte(text[from:], '`')
		if at < 0 {
			return text, false
		}
		at += from
		n := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if n == len(fence) {
			return text[at+n:], true
		}
		from = at + n
	}
}

// isPunctuation reports whether a backslash escapes b.
func isPunctuation(b byte) bool {
	return b > ' ' && b < 0x7F && !(b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z')
}

// mentionedUsers lists the user ids that a text mentions, <@id> or <@!id>, in order of first appearance, without roles, channels and
// everyone.
func mentionedUsers(text string, in coordination.Channel) (ids []string) {
	for {
		_, after, found := strings.Cut(text, "<@")
		if !found {
			return ids
		}
		text = after
		id, _, closed := strings.Cut(strings.TrimPrefix(after[:min(len(after), maxMention)], "!"), ">")
		if closed && in.IsUserID(id) {
			ids = appendNew(ids, id)
		}
	}
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
