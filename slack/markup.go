package slack

import (
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

// render returns Markdown in Slack's own markup. notify reports whether a user may be notified; name is a user's name.
// A mention of any other user becomes a name, and nothing else in a text can notify anyone.
func render(text string, notify func(id string) bool, name func(id string) string) string {
	r := renderer{notify: notify, name: name}
	lines := strings.Split(text, "\n")
	fence := ""
	for i, line := range lines {
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence, lines[i] = mark, "```" // Slack shows a language as code
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimLeft(strings.TrimSpace(line), "`~") == "":
			fence, lines[i] = "", "```"
		case fence != "":
			lines[i] = escape(line)
		default:
			lines[i] = r.line(line)
		}
	}
	return strings.Join(lines, "\n")
}

type renderer struct {
	notify func(id string) bool
	name   func(id string) string
}

// fenceOf is the mark of a line that begins or ends a code block; "" if it does not.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !(mark == "`" && strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

var (
	heading = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$`)
	bullet  = regexp.MustCompile(`^(\s*)[-*+][ \t]+(.*)$`)
	quote   = regexp.MustCompile(`^ {0,3}(>+) ?(.*)$`)
)

func (r *renderer) line(line string) string {
	if m := heading.FindStringSubmatch(line); m != nil {
		return "*" + r.inline(strings.NewReplacer("**", "", "__", "").Replace(m[1])) + "*"
	}
	if m := quote.FindStringSubmatch(line); m != nil {
		return "> " + r.line(m[2])
	}
	if m := bullet.FindStringSubmatch(line); m != nil {
		return m[1] + "• " + r.inline(m[2])
	}
	return r.inline(line)
}

// spans are what has a meaning within a line, in order of precedence at one position.
var spans = regexp.MustCompile("(`+)" +
	`|<@!?([A-Za-z0-9]+)>` +
	`|!?\[([^\[\]]*)\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*|mailto:[^\s()]+)(?:\s+"[^"]*")?\)` +
	`|<((?:https?|mailto):[^\s<>|]+)>` +
	`|(https?://[^\s<>|]+)` +
	`|(\*\*|__|~~)` +
	`|(\\[!-/:-@\[-` + "`" + `{-~])`)

// inline renders the spans of a line. Emphasis is translated mark by mark: a mark without its partner stays as it is.
func (r *renderer) inline(text string) string {
	var out strings.Builder
	open := map[string]bool{}
	for text != "" {
		m := spans.FindStringSubmatchIndex(text)
		if m == nil {
			out.WriteString(escape(italic(text)))
			break
		}
		out.WriteString(escape(italic(text[:m[0]])))
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		rest := text[m[1]:]
		switch {
		case part(1) != "":
			code, after := codeSpan(part(1), rest)
			out.WriteString(escape(code))
			rest = after
		case part(2) != "":
			out.WriteString(r.mention(part(2)))
		case part(4) != "":
			out.WriteString(link(part(4), part(3)))
		case part(5) != "":
			out.WriteString(link(part(5), ""))
		case part(6) != "":
			out.WriteString(escape(part(6)))
		case part(7) != "":
			out.WriteString(emphasis(open, part(7), rest))
		default:
			out.WriteString(escape(part(8)[1:]))
		}
		text = rest
	}
	return out.String()
}

// codeSpan is inline code with its marks, and what follows. Slack has only single marks.
func codeSpan(mark, rest string) (code, after string) {
	end := strings.Index(rest, mark)
	if end < 0 {
		return mark, rest
	}
	inner := rest[:end]
	if len(mark) > 1 {
		inner = strings.ReplaceAll(strings.TrimSpace(inner), "`", "'")
	}
	return "`" + inner + "`", strings.TrimPrefix(rest[end:], mark)
}

// emphasis translates a mark that opens or closes.
func emphasis(open map[string]bool, mark, rest string) string {
	own := map[string]string{"**": "*", "__": "*", "~~": "~"}[mark]
	switch {
	case open[mark]:
		open[mark] = false
	case strings.Contains(rest, mark):
		open[mark] = true
	default:
		return mark
	}
	return own
}

var single = regexp.MustCompile(`(^|[^\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*([^\w*]|$)`)

// italic translates emphasis by single asterisks, which Slack shows bold.
func italic(text string) string { return single.ReplaceAllString(text, "${1}_${2}_${3}") }

// link is a link. What Slack takes as its end is encoded.
func link(to, label string) string {
	to = strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "&", "&amp;").Replace(to)
	label = strings.TrimSpace(strings.ReplaceAll(label, "|", "/"))
	if label == "" {
		return "<" + to + ">"
	}
	return "<" + to + "|" + escape(label) + ">"
}

func (r *renderer) mention(id string) string {
	if r.notify(id) {
		return "<@" + id + ">"
	}
	if name := r.name(id); name != "" {
		return "@" + escape(name)
	}
	return "@" + id
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(text string) string { return escaper.Replace(text) }

var marks = regexp.MustCompile(`<([^<>\n]*)>`)

// content returns a message's text as the log has it: mentions of users are <@id>, named links are Markdown, and no
// other text looks like a mention.
func content(text string, channelName func(id string) string) string {
	var out strings.Builder
	for {
		m := marks.FindStringSubmatchIndex(text)
		if m == nil {
			out.WriteString(plain(text))
			return out.String()
		}
		out.WriteString(plain(text[:m[0]]))
		out.WriteString(unmark(text[m[2]:m[3]], channelName))
		text = text[m[1]:]
	}
}

// unmark is what stands between < and > in a message.
func unmark(mark string, channelName func(id string) string) string {
	target, label, named := strings.Cut(mark, "|")
	label = plain(label)
	switch {
	case strings.HasPrefix(target, "@"):
		return "<" + target + ">"
	case strings.HasPrefix(target, "#"):
		if label == "" {
			label = channelName(target[1:])
		}
		if label == "" {
			return target
		}
		return "#" + label
	case target == "!here" || target == "!channel" || target == "!everyone":
		return "@" + target[1:]
	case strings.HasPrefix(target, "!"):
		if label == "" {
			return target[1:]
		}
		return label
	}
	address := plain(target)
	if !named || label == address || strings.TrimPrefix(address, "mailto:") == label || strings.HasSuffix(address, "://"+label) {
		return strings.TrimPrefix(address, "mailto:")
	}
	return channel.Link(label, address)
}

const invisible = "\u200b"

// plain undoes Slack's escapes, in a text that is no mention.
func plain(text string) string {
	text = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
	return strings.ReplaceAll(text, "<@", "<"+invisible+"@")
}

var userMark = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^<>]*)?>`)

// mentioned are the users that a text of Slack mentions, each once.
func mentioned(text string) (ids []string) {
	seen := map[string]bool{}
	for _, m := range userMark.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			ids = append(ids, m[1])
		}
	}
	return ids
}

// mentionsAll reports whether a text of Slack calls for everyone in a channel.
func mentionsAll(text string) bool {
	return strings.Contains(text, "<!here") || strings.Contains(text, "<!channel") || strings.Contains(text, "<!everyone")
}
