package outbound

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// names are users by name, longest first.
type names struct {
	in   coordination.Channel
	list []name
	own  string // user id of the author
}

type name struct{ text, user string }

// namesOf are the users that an account's text may mention by name: agents with bots, and configured mentions.
func namesOf(accounts *channel.Registry, c *config.Config, service, account string) *names {
	n := &names{}
	n.in, _ = coordination.ChannelNamed(service)
	own, _ := accounts.Account(account)
	n.own = own.UserID
	for _, b := range accounts.Bots() {
		if b.AgentID != "" {
			n.add(b.UserID, b.AgentName, b.AgentID, b.AccountID)
		}
	}
	for user, text := range c.Channel(service).Mentions {
		n.add(user, text)
	}
	slices.SortFunc(n.list, func(a, b name) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text), cmp.Compare(a.user, b.user))
	})
	return n
}

func (n *names) add(user string, texts ...string) {
	for _, text := range texts {
		if user != "" && user != n.own && strings.TrimSpace(text) != "" {
			n.list = append(n.list, name{text, user})
		}
	}
}

// resolve replaces @name by a mention if it names a known user outside of code.
func (n *names) resolve(text string) string {
	if len(n.list) == 0 || !strings.Contains(text, "@") {
		return text
	}
	var out strings.Builder
	for _, p := range parts(text) {
		if p.code {
			out.WriteString(p.text)
			continue
		}
		n.resolvePart(&out, p.text)
	}
	return out.String()
}

func (n *names) resolvePart(out *strings.Builder, text string) {
	before := rune(-1)
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == '@' && !joins(before) {
			if user, length := n.called(text[size:]); user != "" {
				out.WriteString("<@" + user + ">")
				text, before = text[size+length:], '>'
				continue
			}
		}
		out.WriteString(text[:size])
		text, before = text[size:], r
	}
}

// joins reports whether a character before an @ makes it part of something else, such as an address.
func joins(r rune) bool { return coordination.IsWordRune(r) || strings.ContainsRune("@./<-+&", r) }

// called is the user named at the start of a text, and the name's length in bytes.
func (n *names) called(text string) (user string, length int) {
	for _, one := range n.list {
		if length, ok := begins(text, one.text); ok && endsName(one.text, text[length:]) {
			return one.user, length
		}
	}
	return "", 0
}

// begins reports whether a text starts with a name, ignoring case.
func begins(text, name string) (length int, ok bool) {
	for range utf8.RuneCountInString(name) {
		_, size := utf8.DecodeRuneInString(text[length:])
		length += size
	}
	return length, strings.EqualFold(text[:length], name)
}

// endsName reports whether a name ends here.
func endsName(name, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	last, _ := utf8.DecodeLastRuneInString(name)
	switch {
	case rest == "":
		return true
	case unicode.Is(unicode.Hangul, next):
		end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.Is(unicode.Hangul, r) })
		if end < 0 {
			end = len(rest)
		}
		return !unicode.Is(unicode.Hangul, last) || coordination.NamingOf(name, rest[:end]) != coordination.Unnamed
	case next == '-':
		after, _ := utf8.DecodeRuneInString(rest[1:])
		return !coordination.IsWordRune(after)
	}
	return !coordination.IsWordRune(next)
}

var mention = regexp.MustCompile(`<@!?([0-9A-Z]{1,20})>`)

// notified are the users that a text mentions outside of code, without its author.
func (n *names) notified(text string) (users []string) {
	for _, p := range parts(text) {
		if p.code {
			continue
		}
		for _, m := range mention.FindAllStringSubmatch(p.text, -1) {
			if user := m[1]; n.in.IsUserID(user) && user != n.own && strings.Trim(user, "0") != "" && !slices.Contains(users, user) && len(users) < delivery.MaxNotify {
				users = append(users, user)
			}
		}
	}
	return users
}

type part struct {
	text string
	code bool
}

// parts splits a text into code and other text. A code span ends with as many backticks as it started with; three or
// more without an end extend to the end of the text.
func parts(text string) (list []part) {
	const fence = 3
	for text != "" {
		open := strings.IndexByte(text, '`')
		if open < 0 {
			return append(list, part{text, false})
		}
		n := backticks(text[open:])
		end := closing(text[open+n:], n)
		switch {
		case end >= 0:
			end += open + n
		case n >= fence:
			end = len(text)
		default:
			list, text = append(list, part{text[:open+n], false}), text[open+n:]
			continue
		}
		list, text = append(list, part{text[:open], false}, part{text[open:end], true}), text[end:]
	}
	return list
}

func backticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// closing is where the first run of exactly n backticks ends, -1 if there is none.
func closing(text string, n int) int {
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			return -1
		}
		at += next
		run := backticks(text[at:])
		if at += run; run == n {
			return at
		}
	}
}
