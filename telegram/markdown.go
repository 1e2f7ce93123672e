package telegram

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rendered is a text for Telegram: in MarkdownV2, and without any markup for the case that Telegram cannot parse it.
type rendered struct {
	markdown string
	plain    string
}

// mention is how a mention of a user is written. In MarkdownV2 it is escaped already.
type mention struct{ markdown, plain string }

// render translates what agents write, common Markdown, to MarkdownV2: code blocks, code, bold, italic, struck text,
// links, headings (bold) and quotations. Whatever else looks like markup is text, and escaped. name says how a user is
// mentioned.
func render(text string, name func(id string) mention) rendered {
	r := renderer{name: name}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if i > 0 {
			r.out.WriteByte('\n')
		}
		if mark, language, is := fence(lines[i]); is {
			end := i + 1
			for end < len(lines) && !closes(lines[end], mark) {
				end++
			}
			r.block(language, strings.Join(lines[i+1:min(end, len(lines))], "\n"))
			i = end
			continue
		}
		r.line(lines[i])
	}
	return rendered{markdown: r.out.String(), plain: plainText(text, name)}
}

type renderer struct {
	name func(id string) mention
	out  strings.Builder
}

// fence reports whether a line begins a code block, its mark and language.
func fence(line string) (mark, language string, is bool) {
	trimmed := strings.TrimLeft(line, " \t")
	for _, c := range []string{"`", "~"} {
		n := len(trimmed) - len(strings.TrimLeft(trimmed, c))
		info := strings.TrimSpace(trimmed[n:])
		if n >= 3 && !strings.Contains(info, "`") {
			language, _, _ = strings.Cut(info, " ")
			return strings.Repeat(c, n), language, true
		}
	}
	return "", "", false
}

// closes reports whether a line ends the code block that mark began.
func closes(line, mark string) bool {
	trimmed := strings.TrimSpace(line)
	return len(trimmed) >= len(mark) && strings.Trim(trimmed, mark[:1]) == ""
}

func (r *renderer) block(language, content string) {
	r.out.WriteString("```")
	r.out.WriteString(languagePattern.FindString(language))
	r.out.WriteByte('\n')
	r.out.WriteString(escapeCode(content))
	r.out.WriteString("\n```")
}

// languagePattern is what Telegram reads as a language without misreading it as content.
var languagePattern = regexp.MustCompile(`^[\w+#.-]*`)

var headingPattern = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$`)

// line renders a line outside of code blocks.
func (r *renderer) line(line string) {
	if m := headingPattern.FindStringSubmatch(line); m != nil && m[1] != "" {
		r.out.WriteByte('*')
		r.inline(m[1], styles{bold: true})
		r.out.WriteByte('*')
		return
	}
	if rest, is := strings.CutPrefix(line, ">"); is {
		r.out.WriteByte('>')
		line = strings.TrimPrefix(rest, " ")
	}
	r.inline(line, styles{})
}

// styles are those in force: Telegram forbids to nest one in itself.
type styles struct{ bold, italic, strike, link bool }

// style is a mark of Markdown and of MarkdownV2.
type style struct {
	mark, out string
	on        func(*styles) *bool
}

// stylesOfMarkdown are in the order of trying: longer marks first.
var stylesOfMarkdown = []style{
	{"**", "*", func(s *styles) *bool { return &s.bold }},
	{"__", "*", func(s *styles) *bool { return &s.bold }},
	{"~~", "~", func(s *styles) *bool { return &s.strike }},
	{"*", "_", func(s *styles) *bool { return &s.italic }},
	{"_", "_", func(s *styles) *bool { return &s.italic }},
}

// inline renders a text within a line.
func (r *renderer) inline(s string, now styles) {
	before := rune(0) // the character before s
	for s != "" {
		c, size := utf8.DecodeRuneInString(s)
		n := 0
		switch {
		case c == '\\' && len(s) > 1 && strings.IndexByte(escapable, s[1]) >= 0:
			r.out.WriteString(escape(s[1:2]))
			n = 2
		case c == '`':
			n = r.code(s)
		case c == '[' && !now.link:
			n = r.link(s, now)
		case c == '<':
			n = r.mention(s, now)
		case c == '@' && !isWord(before):
			n = r.silent(s)
		case c == '*' || c == '_' || c == '~':
			n = r.styled(s, before, now)
		}
		if n == 0 {
			r.out.WriteString(escape(s[:size]))
			n = size
		}
		before, _ = utf8.DecodeLastRuneInString(s[:n])
		s = s[n:]
	}
}

// code renders code between equal numbers of `; it returns the length of its source, 0 if there is none.
func (r *renderer) code(s string) int {
	mark := s[:len(s)-len(strings.TrimLeft(s, "`"))]
	for from := len(mark); ; {
		i := strings.Index(s[from:], mark)
		if i < 0 {
			return 0
		}
		end := from + i
		after := end + len(mark)
		if run := len(s[end:]) - len(strings.TrimLeft(s[end:], "`")); run != len(mark) { // another number of marks
			from = end + run
			continue
		}
		content := s[len(mark):end]
		if trimmed := strings.TrimSpace(content); trimmed != "" && len(mark) > 1 {
			content = trimmed
		}
		if content == "" {
			return 0
		}
		r.out.WriteString("`" + escapeCode(content) + "`")
		return after
	}
}

var linkPattern = regexp.MustCompile(`^\[((?:[^\[\]\n\\]|\\.)+)\]\(<?((?:https?://|mailto:)[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"\n]*")?\)`)

// link renders a link to a web page. Other addresses, such as those of users, stay text.
func (r *renderer) link(s string, now styles) int {
	m := linkPattern.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	now.link = true
	r.out.WriteByte('[')
	r.inline(m[1], now)
	r.out.WriteString("](" + strings.NewReplacer(`\`, `\\`, `)`, `\)`).Replace(m[2]) + ")")
	return len(m[0])
}

// mentionPattern is a mention of a user in texts of the log.
var mentionPattern = regexp.MustCompile(`^<@!?(\d+)>`)

// mention renders a mention of a user; within a link only the name.
func (r *renderer) mention(s string, now styles) int {
	m := mentionPattern.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	if name := r.name(m[1]); now.link {
		r.out.WriteString(escape(name.plain))
	} else {
		r.out.WriteString(name.markdown)
	}
	return len(m[0])
}

// usernamePattern is what Telegram makes a mention.
var usernamePattern = regexp.MustCompile(`^@[A-Za-z0-9_]{3,}`)

// invisible separates characters that Telegram must not read together.
const invisible = "\u2060"

// silent writes a username so that it notifies no one.
func (r *renderer) silent(s string) int {
	m := usernamePattern.FindString(s)
	if m == "" {
		return 0
	}
	r.out.WriteString("@" + invisible + escape(m[1:]))
	return len(m)
}

// styled renders a text between two equal marks.
func (r *renderer) styled(s string, before rune, now styles) int {
	if end := closing(s, "***", before); strings.HasPrefix(s, "***") && end > 0 && !now.bold && !now.italic {
		now.bold, now.italic = true, true
		r.out.WriteString("*_")
		r.inline(s[3:end], now)
		r.out.WriteString("_*")
		return end + 3
	}
	for _, st := range stylesOfMarkdown {
		if !strings.HasPrefix(s, st.mark) || *st.on(&now) {
			continue
		}
		end := closing(s, st.mark, before)
		if end == 0 {
			continue
		}
		inner := now
		*st.on(&inner) = true
		if text := r.out.String(); st.out == "_" && strings.HasSuffix(text, "_") {
			r.out.WriteString(invisible) // two of them would be another mark
		}
		r.out.WriteString(st.out)
		r.inline(s[len(st.mark):end], inner)
		r.out.WriteString(st.out)
		return end + len(st.mark)
	}
	return 0
}

// closing finds the mark that ends a styled text; 0 if there is none.
func closing(s, mark string, before rune) int {
	if len(s) <= len(mark) {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(s[len(mark):])
	if unicode.IsSpace(first) || mark[0] == '_' && isWord(before) || strings.HasPrefix(s[len(mark):], mark[:1]) {
		return 0
	}
	for i := len(mark); i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i += 2
			continue
		case s[i] == '`': // marks in code are none
			run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			if end := strings.Index(s[i+run:], s[i:i+run]); end >= 0 {
				i += run + end + run
				continue
			}
			i += run
			continue
		case strings.HasPrefix(s[i:], mark) && ends(s, i, mark):
			if len(mark) == 2 && strings.HasPrefix(s[i:], mark+mark[:1]) {
				i++ // the first of three ends what is within
			}
			return i
		case s[i] == mark[0]: // a longer or shorter run
			for i < len(s) && s[i] == mark[0] {
				i++
			}
			continue
		}
		i++
	}
	return 0
}

// ends reports whether the mark at i can end a styled text.
func ends(s string, i int, mark string) bool {
	last, _ := utf8.DecodeLastRuneInString(s[:i])
	next, _ := utf8.DecodeRuneInString(s[i+len(mark):])
	run := len(s[i:]) - len(strings.TrimLeft(s[i:], mark[:1]))
	if unicode.IsSpace(last) || mark[0] == '_' && isWord(next) {
		return false
	}
	return run == len(mark) || run == 3 // three end both bold and italic
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// escapable are the characters that a \ in Markdown makes text.
const escapable = "\\`*_{}[]()#+-.!~>|<@"

// reserved are the characters that MarkdownV2 requires to be escaped in text.
const reserved = "_*[]()~`>#+-=|{}.!\\"

func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(reserved, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// escapeCode escapes what is within code.
func escapeCode(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(text)
}

// anyMention is a mention of a user in texts of the log.
var anyMention = regexp.MustCompile(`<@!?(\d+)>`)

// anyName is such a mention, or what Telegram would make one.
var anyName = regexp.MustCompile(`<@!?(\d+)>|(^|[^\w@/.])@([A-Za-z0-9_]{3,})`)

// plainText is a text as it is, with the names of users, and without other mentions.
func plainText(text string, name func(id string) mention) string {
	return anyName.ReplaceAllStringFunc(text, func(found string) string {
		m := anyName.FindStringSubmatch(found)
		if m[1] != "" {
			return name(m[1]).plain
		}
		return m[2] + "@" + invisible + m[3]
	})
}
