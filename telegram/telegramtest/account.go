package telegramtest

import (
	"fmt"
	"slices"
	"strings"
)

// account is a bot or a person.
type account struct {
	User
	token    string
	revoked  bool
	seesAll  bool            // privacy mode is off
	private  map[int64]*chat // of a bot, by person
	mailbox  int             // last id of a message in private chats and basic groups
	commands map[string][]Command

	updates updates
	hook    *hook
}

// BotOptions are settings that a bot's owner makes with BotFather.
type BotOptions struct {
	WithoutPrivacy bool // the bot receives all messages of its groups
}

// Bot is a bot.
type Bot struct {
	User
	Token string
	s     *Server
	own   *account
}

// AddBot creates a bot with a username that ends with "bot".
func (s *Server) AddBot(name string, options BotOptions) *Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.newAccount(name, true)
	a.Username = strings.ToLower(name) + "_bot"
	a.token = fmt.Sprintf("%d:AA-%s-%s", a.ID, name, strings.Repeat("x", 30))
	a.seesAll, a.private, a.commands = options.WithoutPrivacy, map[int64]*chat{}, map[string][]Command{}
	s.bots = append(s.bots, a)
	return &Bot{User: a.User, Token: a.token, s: s, own: a}
}

// Revoke makes every request of the bot fail with 401, as after BotFather's /revoke.
func (b *Bot) Revoke() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.own.revoked = true
	b.s.happened()
}

// Restore ends Revoke.
func (b *Bot) Restore() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.own.revoked = false
	b.s.happened()
}

// Commands returns the command list of the default scope.
func (b *Bot) Commands() []Command {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return slices.Clone(b.own.commands[scopeKey("", "")])
}

// Person is a person, controlled by the test.
type Person struct {
	User
	s   *Server
	own *account
}

// AddPerson creates a person, who is in no chat yet. The username is the name in lower case.
func (s *Server) AddPerson(name string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.newAccount(name, false)
	a.Username = strings.ToLower(name)
	return &Person{User: a.User, s: s, own: a}
}

// firstID is where ids of users begin. Those of groups are below zero.
const firstID = 7_000_000_000

func (s *Server) newAccount(name string, bot bool) *account {
	s.lastID++
	a := &account{User: User{ID: firstID + s.lastID*1009, FirstName: name, IsBot: bot}}
	s.accounts[a.ID] = a
	return a
}

func (s *Server) byToken(token string) *account {
	for _, a := range s.bots {
		if a.token == token {
			return a
		}
	}
	return nil
}

func (s *Server) getMe(c *call) (any, *Error) {
	return me{User: c.by.User, CanJoinGroups: true, CanReadAllGroupMessages: c.by.seesAll}, nil
}

// setMyCommands and its siblings keep one list per scope and language.
func (s *Server) setMyCommands(c *call) (any, *Error) {
	var commands []Command
	if refusal := c.object("commands", &commands); refusal != nil {
		return nil, refusal
	}
	for _, one := range commands {
		switch {
		case one.Command == "" || len(one.Command) > 32 || strings.Trim(one.Command, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			return nil, badRequest("BOT_COMMAND_INVALID")
		case one.Description == "" || units(one.Description) > 256:
			return nil, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	if len(commands) > 100 {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	c.by.commands[scopeKey(c.text("scope"), c.text("language_code"))] = commands
	return true, nil
}

func (s *Server) getMyCommands(c *call) (any, *Error) {
	return append([]Command{}, c.by.commands[scopeKey(c.text("scope"), c.text("language_code"))]...), nil
}

func (s *Server) deleteMyCommands(c *call) (any, *Error) {
	delete(c.by.commands, scopeKey(c.text("scope"), c.text("language_code")))
	return true, nil
}

func scopeKey(scope, language string) string {
	if scope == "" || strings.Contains(scope, `"default"`) {
		scope = "default"
	}
	return scope + " " + language
}
