package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/pronto-lab/openclawd/channel"
)

// content returns a message's text as the log has it: mentions of users are <@id>, named links are Markdown, and no
// other part looks like a mention. known finds a user by username.
func content(text string, entities []entityShape, known func(username string) (channel.User, bool)) (string, []channel.User) {
	units := utf16.Encode([]rune(text))
	entities = slices.Clone(entities)
	slices.SortStableFunc(entities, func(a, b entityShape) int { return cmp.Compare(a.Offset, b.Offset) })
	var out strings.Builder
	var mentions []channel.User
	at := 0
	write := func(to int) {
		out.WriteString(harmless(string(utf16.Decode(units[at:to]))))
		at = to
	}
	for _, e := range entities {
		end := e.Offset + e.Length
		if e.Offset < at || e.Length <= 0 || end > len(units) {
			continue
		}
		part := string(utf16.Decode(units[e.Offset:end]))
		switch e.Type {
		case "mention", "text_mention":
			user, is := channel.User{}, false
			if e.User != nil {
				user, is = e.User.user(), true
			} else {
				user, is = known(strings.TrimPrefix(part, "@"))
			}
			if !is {
				continue
			}
			write(e.Offset)
			out.WriteString("<@" + user.ID + ">")
			at = end
			if !slices.ContainsFunc(mentions, func(u channel.User) bool { return u.ID == user.ID }) {
				mentions = append(mentions, user)
			}
		case "text_link":
			write(e.Offset)
			out.WriteString(channel.Link(part, e.URL))
			at = end
		}
	}
	write(len(units))
	return out.String(), mentions
}

// harmless separates what looks like a mention in the log but is none.
func harmless(text string) string { return strings.ReplaceAll(text, "<@", "<"+invisible+"@") }

func (u *userShape) user() channel.User {
	return channel.User{ID: idText(u.ID), Name: u.name(), Bot: u.Bot}
}
