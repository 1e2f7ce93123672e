package telegramtest

import (
	"slices"
	"strings"
)

// knownReactions are some of the emoji that Telegram accepts as reactions.
const knownReactions = "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 " +
	"☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷 😡"

func (s *Server) setMessageReaction(c *call) (any, *Error) {
	ch, refusal := s.chatOf(c)
	if refusal != nil {
		return nil, refusal
	}
	m := ch.find(c.by, int(c.number("message_id")))
	if m == nil || m.isService() {
		return nil, badRequest("message to react not found")
	}
	var given []reactionType
	if refusal := c.object("reaction", &given); refusal != nil {
		return nil, refusal
	}
	if len(given) > 1 {
		return nil, badRequest("REACTIONS_TOO_MANY")
	}
	var all Emoji
	for _, r := range given {
		if r.Type != "emoji" || !slices.Contains(strings.Fields(knownReactions), r.Emoji) {
			return nil, badRequest("REACTION_INVALID")
		}
		all = append(all, r.Emoji)
	}
	m.react(c.by, all)
	return true, nil
}

func (m *message) react(who *account, all Emoji) {
	now := map[int64]Emoji{} // messages handed out before keep theirs
	for id, of := range m.reactions {
		if id != who.ID {
			now[id] = of
		}
	}
	if len(all) > 0 {
		now[who.ID] = all
	}
	m.reactions = now
}

// React replaces the person's reactions to a message. Bots that are administrators, or in a private chat, are told if
// they ask for message_reaction.
func (p *Person) React(m Message, emoji ...string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	on := m.own
	if !on.chat.present(p.own) {
		return forbidden("the person is not in the chat")
	}
	old := reactionTypes(on.reactions[p.ID])
	on.react(p.own, emoji)
	for _, bot := range on.chat.bots() {
		if of := on.chat.member(bot.ID); on.chat.Type == typePrivate || of != nil && of.admin() {
			p.s.queue(bot, "message_reaction", Update{Reaction: &Reaction{Chat: on.chat.shape(), MessageID: on.idFor(bot), User: &p.own.User,
				Date: p.s.now().Unix(), Old: old, New: reactionTypes(emoji)}})
		}
	}
	p.s.happened()
	return nil
}

func reactionTypes(all []string) []reactionType {
	told := []reactionType{}
	for _, e := range all {
		told = append(told, reactionType{Type: "emoji", Emoji: e})
	}
	return told
}
