package coordination

import (
	"regexp"
	"strings"
)

// Preview is a message on one line without Markdown, cleaned by Clean and cut at limit characters with "...".
func Preview(text string, roster *Roster, limit int) string {
	return cut(collapseSpace(plainText(Clean(text, roster).Text)), limit)
}

// Unmarked is a text on one line without Markdown, uncut, neither cleaned nor masked.
func Unmarked(text string) string { return collapseSpace(plainText(text)) }

// Inline Markdown and its replacements.
var inlineMarkdown = [...]struct {
	marks   string // present wherever the expression matches
	written *regexp.Regexp
	plain   string
}{
	{"](", regexp.MustCompile(`!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+"[^"\n]*")?\)`), "$1"},
	{"<", regexp.MustCompile(`<(https?://[^<>\s]+)>`), "$1"},
	{"`", regexp.MustCompile("``?([^`\n]+)``?"), "$1"},
	{"***", regexp.MustCompile(`\*\*\*([^*\n]+)\*\*\*`), "$1"},
	{"**", regexp.MustCompile(`\*\*([^*\n]+)\*\*`), "$1"},
	{"*", regexp.MustCompile(`(^|[^\pL\pN*])\*([^\s*][^*\n]*[^\s*]|[^\s*])\*`), "$1$2"},
	{"__", regexp.MustCompile(`(^|[^\pL\pN_])__([^_\n]+)__($|[^\pL\pN_]|\p{Hangul})`), "$1$2$3"},
	{"_", regexp.MustCompile(`(^|[^\pL\pN_])_([^_\n]+)_($|[^\pL\pN_]|\p{Hangul})`), "$1$2$3"},
	{"~~", regexp.MustCompile(`~~([^~\n]+)~~`), "$1"},
	{"||", regexp.MustCompile(`\|\|([^|\n]+)\|\|`), "$1"},
}

var (
	blockMarkdown = regexp.MustCompile(`^(?:(?:>+|#{1,6}|[-*+]|\d{1,3}[.)])\s+)+(?:\[[ xX]\]\s+)?`)
	ruleMarkdown  = regexp.MustCompile(`^\s*(?:(?:[-*_]\s*){3,}|\|?(?:\s*:?-{3,}:?\s*\|?)+)$`)
)

// plainText removes Markdown and keeps the words, those of code too.
func plainText(text string) string {
	if !strings.ContainsAny(text, "`*_~#>|[]-+.)") {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			if line = strings.Trim(line, "`"); !strings.Contains(line, " ") {
				continue
			}
		}
		if line != "" && strings.IndexByte("-*_|:", line[0]) >= 0 && ruleMarkdown.MatchString(line) {
			continue
		}
		if line != "" && strings.IndexByte(">#-*+0123456789", line[0]) >= 0 {
			line = blockMarkdown.ReplaceAllString(line, "")
		}
		if strings.HasPrefix(line, "|") && strings.HasSuffix(line, "|") && len(line) > 1 && !strings.HasPrefix(line, "||") {
			line = strings.ReplaceAll(strings.Trim(line, "|"), "|", " ")
		}
		lines = append(lines, line)
	}
	text = strings.Join(lines, "\n")
	for _, m := range inlineMarkdown {
		if strings.Contains(text, m.marks) {
			text = m.written.ReplaceAllString(text, m.plain)
		}
	}
	return text
}
