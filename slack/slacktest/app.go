package slacktest

import (
	"slices"
	"strings"
)

// AppOptions of an app.
type AppOptions struct {
	Scopes   []string // of the bot token; nil: AllScopes
	Events   []string // subscriptions, e.g. "message.channels"; nil: AllEvents
	Commands []string // slash commands, e.g. "/ask"
}

// AllScopes are the rights of an app that can do everything that the server knows.
func AllScopes() []string {
	return []string{"app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
		"groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read", "mpim:write", "reactions:read",
		"reactions:write", "users:read"}
}

// AllEvents are all subscriptions.
func AllEvents() []string {
	return []string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim", "reaction_added", "reaction_removed", "member_joined_channel"}
}

// App is an installed app with a bot user.
type App struct {
	s   *Server
	own *app

	ID            string
	Name          string
	UserID        string // of its bot user
	BotID         string
	Token         string // xoxb-
	AppToken      string // xapp-, with connections:write
	SigningSecret string
}

// Mention is the text that mentions the bot.
func (a *App) Mention() string { return "<@" + a.UserID + ">" }

type app struct {
	id, name, user, bot   string
	token, appToken, sign string
	scopes, events        []string
	commands              []string
	requestURL            string // "": Socket Mode
	refusal               string // of its token: invalid_auth, token_revoked, account_inactive
	turn                  int    // the socket of the next envelope
	lostAcks, twice       int    // faults
	forgotten             bool   // nothing is repeated until it connects again
}

// AddApp installs an app. It is in no channel.
func (s *Server) AddApp(name string, o AppOptions) *App {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Scopes == nil {
		o.Scopes = AllScopes()
	}
	if o.Events == nil {
		o.Events = AllEvents()
	}
	a := &app{id: s.id("A"), bot: s.id("B"), name: name, scopes: o.Scopes, events: o.Events, commands: o.Commands,
		token: "xoxb-1-" + secret(16), appToken: "xapp-1-" + secret(16), sign: secret(16)}
	a.user = s.addUser(name, func(u *User) { u.IsBot, u.Profile.BotID, u.Profile.APIAppID = true, a.bot, a.id }).ID
	s.apps = append(s.apps, a)
	return &App{s: s, own: a, ID: a.id, Name: name, UserID: a.user, BotID: a.bot, Token: a.token, AppToken: a.appToken, SigningSecret: a.sign}
}

func (s *Server) addUser(name string, how func(*User)) *User {
	u := &User{ID: s.id("U"), TeamID: TeamID, Name: strings.ToLower(name), RealName: name, Updated: s.o.Now().Unix(), TZ: "Asia/Seoul",
		Profile: Profile{RealName: name, DisplayName: name, Team: TeamID}}
	if how != nil {
		how(u)
	}
	s.users[u.ID] = u
	s.order = append(s.order, u.ID)
	return u
}

func (s *Server) appOf(user string) *app {
	for _, a := range s.apps {
		if a.user == user {
			return a
		}
	}
	return nil
}

// SetScopes changes the rights of the app's token.
func (a *App) SetScopes(scopes ...string) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.own.scopes = scopes
}

// SetEvents changes what the app has subscribed to.
func (a *App) SetEvents(events ...string) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.own.events = events
}

// Refuse makes both tokens invalid: invalid_auth, token_revoked or account_inactive. "" makes them valid again.
func (a *App) Refuse(why string) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.own.refusal = why
}

func (a *app) may(scope string) bool { return scope == "" || slices.Contains(a.scopes, scope) }

func (a *app) profile() *BotProfile {
	return &BotProfile{ID: a.bot, AppID: a.id, Name: a.name, TeamID: TeamID}
}
