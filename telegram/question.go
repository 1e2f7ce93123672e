package telegram

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

// A message that asks for a form's text has, as the link of its title, what is asked: a reply shows the message that it
// replies to, so that it is understood after a restart, too. The bot's token signs it, for agents write messages of the bot.
const questionLink = "https://t.me/#form."

// question is what such a link says.
type question struct {
	Form  string `json:"i"`
	Field string `json:"f"`
	Max   int    `json:"m"`
	User  string `json:"u"`
}

// linkOf is the link of a question in a chat.
func (b *bot) linkOf(chat int64, q question) string {
	said, _ := json.Marshal(q) // texts and a number always encode
	text := base64.RawURLEncoding.EncodeToString(said)
	return questionLink + text + "." + b.signature(chat, text)
}

func (b *bot) signature(chat int64, text string) string {
	sum := hmac.New(sha256.New, []byte(b.own.Token.Reveal()))
	_, _ = sum.Write([]byte("form " + idText(chat) + " " + text)) // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16])
}

// reask makes the question that a message replies to known again, if it is one of our bots' from before a restart.
func (b *bot) reask(m *messageShape, id string) {
	of := m.ReplyTo
	if of == nil || of.From == nil || b.bots.forms.knows(id) {
		return
	}
	for _, by := range b.bots.all() {
		if by.user.Load() != of.From.ID {
			continue
		}
		for _, e := range of.Entities {
			if q, is := by.questionOf(m.Chat.ID, e.URL); is {
				b.bots.forms.put(id, openForm{form: channel.Form{ID: q.Form, Field: q.Field, Max: q.Max}, by: by, user: q.User})
			}
		}
	}
}

func (b *bot) questionOf(chat int64, link string) (q question, is bool) {
	said, is := strings.CutPrefix(link, questionLink)
	text, signed, parts := strings.Cut(said, ".")
	if !is || !parts || !hmac.Equal([]byte(signed), []byte(b.signature(chat, text))) {
		return q, false
	}
	read, err := base64.RawURLEncoding.DecodeString(text)
	return q, err == nil && json.Unmarshal(read, &q) == nil && q.Form != ""
}
