package slacktest

func authTest(c *call) (answer, *Error) {
	return answer{"url": "https://lab.slack.com/", "team": TeamName, "user": c.s.users[c.app.user].Name, "team_id": TeamID,
		"user_id": c.app.user, "bot_id": c.app.bot, "is_enterprise_install": false}, nil
}

func openConnection(c *call) (answer, *Error) {
	if c.app.requestURL != "" {
		return nil, refuse("socket_mode_not_enabled")
	}
	ticket := secret(12)
	c.s.tickets[ticket] = c.app
	return answer{"url": "ws://" + c.s.address + "/link/?ticket=" + ticket + "&app_id=" + c.app.id}, nil
}

func botInfo(c *call) (answer, *Error) {
	for _, a := range c.s.apps {
		if a.bot == c.text("bot") {
			return answer{"bot": map[string]any{"id": a.bot, "app_id": a.id, "user_id": a.user, "name": a.name, "deleted": false}}, nil
		}
	}
	return nil, refuse("bot_not_found")
}

func userInfo(c *call) (answer, *Error) {
	u := c.s.users[c.text("user")]
	if u == nil {
		return nil, refuse("user_not_found")
	}
	return answer{"user": u}, nil
}

func listUsers(c *call) (answer, *Error) {
	some, next := page(c, c.s.order, 200)
	members := []*User{}
	for _, id := range some {
		members = append(members, c.s.users[id])
	}
	return answer{"members": members, "cache_ts": c.s.o.Now().Unix(), "response_metadata": map[string]any{"next_cursor": next}}, nil
}
