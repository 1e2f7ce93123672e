package discordtest

import (
	"fmt"
	"net/http"

	"github.com/bwmarrin/discordgo"
)

type account struct {
	User
	token      string
	content    bool // may use the intent of message content
	members    bool
	refusal    int // status of every answer; 0: none
	mute       bool
	refusesDMs bool
}

// BotOptions are an application's settings in Discord's developer portal.
type BotOptions struct {
	WithoutContent bool // the message content intent is not granted
	WithoutMembers bool // nor the members intent
}

// Bot is an application with its user. Both have the same id, as for all applications since 2016.
type Bot struct {
	User
	Token string // without "Bot "
	s     *Server
	own   *account
}

// AddBot creates a bot, which is in no guild yet.
func (s *Server) AddBot(name string, options BotOptions) *Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.newAccount(name, true)
	a.token, a.content, a.members = "token-"+name+"."+a.ID, !options.WithoutContent, !options.WithoutMembers
	s.bots = append(s.bots, a)
	return &Bot{User: a.User, Token: a.token, s: s, own: a}
}

// Session returns a discordgo session of the bot that uses the server and is not opened yet.
func (b *Bot) Session() (*discordgo.Session, error) {
	session, err := discordgo.New("Bot " + b.Token)
	if err != nil {
		return nil, fmt.Errorf("make a session for %s: %w", b.Username, err)
	}
	b.s.Point(session)
	return session, nil
}

// Refuse takes the bot offline: its sockets are cut, identify and resume are refused as with a wrong token, and every
// request is answered with the status, 401 or 403.
func (b *Bot) Refuse(status int) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.own.refusal = status
	b.s.dropSockets(b.own)
	b.s.happened()
}

// RefuseAsUnknown is Refuse with 401.
func (b *Bot) RefuseAsUnknown() { b.Refuse(http.StatusUnauthorized) }

// Accept ends Refuse.
func (b *Bot) Accept() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.own.refusal = 0
}

// Human is a person, controlled by the test.
type Human struct {
	User
	s   *Server
	own *account
}

// AddHuman creates a person, who is in no guild yet.
func (s *Server) AddHuman(name string) *Human {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.newAccount(name, false)
	return &Human{User: a.User, s: s, own: a}
}

// RefuseDirectMessages makes every direct message to the person fail with code 50007.
func (h *Human) RefuseDirectMessages(refuse bool) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.own.refusesDMs = refuse
}

func (s *Server) newAccount(name string, bot bool) *account {
	display := name
	a := &account{User: User{ID: s.next(), Username: name, Discriminator: "0", GlobalName: &display, Bot: bot}}
	if bot {
		a.GlobalName = nil
	}
	s.accounts[a.ID] = a
	return a
}
