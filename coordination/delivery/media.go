package delivery

import (
	"path"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Named is a file that an answer names: stored beside the log, or why it is not.
type Named struct {
	Source string
	File
	Refused string // "" for a stored file
}

// SourceOf is what a setting or a line names, without MEDIA: before it.
func SourceOf(name string) string {
	return coordination.TrimJS(strings.TrimPrefix(coordination.TrimJS(name), mediaToken))
}

// ShowMedia is a text as a transcript shows it: the names of files that its lines name stand at its end instead of these.
func ShowMedia(text string) string {
	rest, sources := SplitMedia(text)
	if len(sources) == 0 {
		return text
	}
	names := make([]string, len(sources))
	for i, source := range sources {
		names[i] = path.Base(strings.ReplaceAll(source, `\`, "/"))
	}
	return coordination.TrimJS(rest + "\n" + strings.Join(names, ", "))
}

// mediaToken begins a line that names files to post, as in OpenClaw.
const mediaToken = "MEDIA:"

// SplitMedia takes the lines of a text that name files to post: MEDIA:, and then a path, or web addresses. Quotes or backticks may stand
// around it. Lines in blocks of code stay, and so do lines that name nothing.
func SplitMedia(text string) (rest string, sources []string) {
	if !strings.Contains(text, mediaToken) {
		return text, nil
	}
	var kept []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		start := strings.TrimLeft(line, " ")
		switch mark := fenceOf(start); {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && strings.Trim(start, mark[:1]+" \t") == "":
			fence = ""
		case fence == "" && !isIndented(line):
			if named := mediaOf(start); len(named) > 0 {
				sources = append(sources, named...)
				continue
			}
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n"), sources
}

// fenceOf is the mark that begins or ends a block of code; "" if the line has none.
func fenceOf(line string) string {
	for _, c := range [...]string{"`", "~"} {
		if rest := strings.TrimLeft(line, c); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

// isIndented reports whether Markdown takes the line for code.
func isIndented(line string) bool {
	return strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
}

// mediaOf are the sources that a line names.
func mediaOf(line string) []string {
	named, is := strings.CutPrefix(line, mediaToken)
	if !is {
		return nil
	}
	named = strings.TrimSpace(named)
	if inner, quoted := unquoted(named); quoted {
		if inner == "" {
			return nil
		}
		return []string{inner}
	}
	if isAddress(named) {
		return strings.Fields(named)
	}
	if strings.ContainsAny(named, `/\`) || path.Ext(named) != "" && !strings.HasSuffix(named, ".") {
		return []string{named}
	}
	return nil
}

func unquoted(s string) (inner string, quoted bool) {
	if len(s) < 2 || s[0] != s[len(s)-1] || !strings.Contains("`\"'", s[:1]) {
		return s, false
	}
	return strings.TrimSpace(s[1 : len(s)-1]), true
}

func isAddress(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
