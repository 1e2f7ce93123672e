package telegramtest

import "strings"

// visibleTo reports whether a bot receives a message.
func (m *message) visibleTo(bot *account) bool {
	switch of := m.chat.member(bot.ID); {
	case m.from.IsBot: // never its own, and never another bot's
		return false
	case m.chat.Type == typePrivate || m.isService() || bot.seesAll || of != nil && of.admin():
		return true
	}
	return m.meantFor() == bot
}

// meantFor returns the one bot in privacy mode that receives a message, or nil. Replies have the highest priority.
func (m *message) meantFor() *account {
	if m.replyTo != nil && m.replyTo.from.IsBot {
		return m.replyTo.from
	}
	command, named := m.command()
	for _, bot := range m.chat.bots() {
		if named != "" && strings.EqualFold(named, bot.Username) {
			return bot
		}
	}
	if command && named == "" {
		return m.chat.lastBot
	}
	for _, name := range m.mentioned() {
		for _, bot := range m.chat.bots() {
			if strings.EqualFold(name, bot.Username) {
				return bot
			}
		}
	}
	return nil
}

// command reports whether the message begins with a command, and the username of the bot it names, if any.
func (m *message) command() (is bool, bot string) {
	for _, e := range m.entities {
		if e.Type == "bot_command" && e.Offset == 0 {
			_, bot, _ = strings.Cut(cut(m.text, e.Offset, e.Length), "@")
			return true, bot
		}
	}
	return false, ""
}

// mentioned returns the usernames that the message mentions.
func (m *message) mentioned() (names []string) {
	for _, e := range m.entities {
		switch e.Type {
		case "mention":
			names = append(names, strings.TrimPrefix(cut(m.text, e.Offset, e.Length), "@"))
		case "text_mention":
			names = append(names, e.User.Username)
		}
	}
	return names
}
