package discordtest

import "strconv"

type sessionStart struct {
	Total          int `json:"total"`
	Remaining      int `json:"remaining"`
	ResetAfter     int `json:"reset_after"`
	MaxConcurrency int `json:"max_concurrency"`
}

type gatewayInfo struct {
	URL    string        `json:"url"`
	Shards int           `json:"shards,omitempty"`
	Start  *sessionStart `json:"session_start_limit,omitempty"`
}

type applicationInfo struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Bot         *User  `json:"bot,omitempty"`
	BotPublic   bool   `json:"bot_public"`
	Flags       int    `json:"flags"`
	VerifyKey   string `json:"verify_key"`
	Summary     string `json:"summary"`
}

// Flags of an application with granted intents, in fewer than a hundred guilds.
const (
	flagMembersLimited = 1 << 15
	flagContentLimited = 1 << 19
)

func (a *account) application() applicationInfo {
	user := a.User
	info := applicationInfo{ID: a.ID, Name: a.Username, Bot: &user, BotPublic: true}
	if a.members {
		info.Flags |= flagMembersLimited
	}
	if a.content {
		info.Flags |= flagContentLimited
	}
	return info
}

type guildSummary struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Icon        *string    `json:"icon"`
	Owner       bool       `json:"owner"`
	Permissions Permission `json:"permissions,string"`
}

func (s *Server) generalRoutes() []route {
	application := func(c *call) (any, *Error) { return c.by.application(), nil }
	return []route{
		{name: "GET /gateway", open: true, do: func(*call) (any, *Error) { return gatewayInfo{URL: s.GatewayURL()}, nil }},
		{name: "GET /gateway/bot", do: func(*call) (any, *Error) {
			return gatewayInfo{URL: s.GatewayURL(), Shards: 1, Start: &sessionStart{Total: 1000, Remaining: 999, MaxConcurrency: 1}}, nil
		}},
		{name: "GET /oauth2/applications/@me", do: application},
		{name: "GET /applications/@me", do: application},
		{name: "GET /users/{user}", do: func(c *call) (any, *Error) {
			if a := s.accounts[userIn(c)]; a != nil {
				return a.User, nil
			}
			return nil, notFound(CodeUnknownUser, "User")
		}},
		{name: "GET /users/@me/guilds", do: func(c *call) (any, *Error) {
			all := []guildSummary{}
			for _, g := range s.guildsOf(c.by) {
				all = append(all, guildSummary{ID: g.info.ID, Name: g.info.Name, Permissions: g.permissions(g.member(c.by.ID))})
			}
			return all, nil
		}},
		{name: "POST /users/@me/channels", do: s.openConversation},
	}
}

// limitIn reads the query's limit, within bounds.
func limitIn(c *call, from, to, otherwise int) (int, *Error) {
	text := c.query("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, invalidForm("limit", "NUMBER_TYPE_COERCE", `Value "`+text+`" is not int.`)
	case n < from:
		return 0, invalidForm("limit", "NUMBER_TYPE_MIN", "int value should be greater than or equal to "+strconv.Itoa(from)+".")
	case n > to:
		return 0, invalidForm("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to "+strconv.Itoa(to)+".")
	}
	return n, nil
}
