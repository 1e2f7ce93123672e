package slacktest

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// page returns the part of a list that a request asks for, and the cursor of the next one.
func page[T any](c *call, all []T, usual int) (some []T, next string) {
	from := 0
	if text, err := base64.StdEncoding.DecodeString(c.text("cursor")); err == nil {
		from, _ = strconv.Atoi(strings.TrimPrefix(string(text), "next:"))
	}
	from = min(max(from, 0), len(all))
	to := min(from+c.number("limit", usual, 999), len(all))
	if to < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte("next:" + strconv.Itoa(to)))
	}
	return all[from:to], next
}

func more(next string) map[string]any { return map[string]any{"next_cursor": next} }

// kinds are the kinds of conversations by their names in conversations.list.
var kinds = map[string]string{"public_channel": Public, "private_channel": Private, "im": Direct, "mpim": Group}

func listConversations(c *call) (answer, *Error) {
	return c.conversations(func(v *conversation) bool { return v.kind == Public || v.has(c.app.user) })
}

// ownConversations lists those that the app is in. Slack does not say there that it is a member.
func ownConversations(c *call) (answer, *Error) {
	got, refusal := c.conversations(func(v *conversation) bool { return v.has(c.app.user) })
	if refusal == nil {
		all := got["channels"].([]Channel)
		for i := range all {
			all[i].IsMember = false
		}
	}
	return got, refusal
}

// conversations lists those of the kinds that a request asks for, if they are visible.
func (c *call) conversations(visible func(*conversation) bool) (answer, *Error) {
	types := c.text("types")
	if types == "" {
		types = "public_channel"
	}
	var wanted []string
	for _, name := range strings.Split(types, ",") {
		kind, known := kinds[strings.TrimSpace(name)]
		if !known {
			return nil, refuse("invalid_types")
		}
		if refusal := c.need((&conversation{kind: kind}).scopePrefix() + ":read"); refusal != nil {
			return nil, refusal
		}
		wanted = append(wanted, kind)
	}
	var all []*conversation
	for _, v := range c.s.listed {
		if slices.Contains(wanted, v.kind) && visible(v) && !(v.archived && c.flag("exclude_archived")) {
			all = append(all, v)
		}
	}
	some, next := page(c, all, 100)
	channels := []Channel{}
	for _, v := range some {
		channels = append(channels, v.public(c.app.user))
	}
	return answer{"channels": channels, "response_metadata": more(next)}, nil
}

func conversationInfo(c *call) (answer, *Error) {
	v, refusal := c.conversation("read")
	if refusal != nil {
		return nil, refusal
	}
	return answer{"channel": v.public(c.app.user)}, nil
}

func listMembers(c *call) (answer, *Error) {
	v, refusal := c.conversation("read")
	if refusal != nil {
		return nil, refusal
	}
	some, next := page(c, v.members, 100)
	return answer{"members": append([]string{}, some...), "response_metadata": more(next)}, nil
}

func openConversation(c *call) (answer, *Error) {
	if c.text("channel") != "" {
		v, refusal := c.conversation("")
		if refusal != nil {
			return nil, refusal
		}
		return answer{"channel": map[string]any{"id": v.id}}, nil
	}
	users := strings.Split(c.text("users"), ",")
	scope := "im:write"
	if len(users) > 1 {
		scope = "mpim:write"
	}
	if refusal := c.need(scope); refusal != nil {
		return nil, refusal
	}
	for _, u := range users {
		if c.s.users[u] == nil {
			return nil, refuse("user_not_found")
		}
	}
	v := c.s.open(append(users, c.app.user))
	if c.flag("return_im") {
		return answer{"channel": v.public(c.app.user)}, nil
	}
	return answer{"channel": map[string]any{"id": v.id}}, nil
}

// between are the messages within the window that a request asks for.
func (c *call) between(all []*message) []*message {
	oldest, latest, inclusive := c.text("oldest"), c.text("latest"), c.flag("inclusive")
	return slices.DeleteFunc(slices.Clone(all), func(m *message) bool {
		switch {
		case oldest != "" && oldest != "0" && !after(m.TS, oldest):
			return !inclusive || m.TS != oldest
		case latest != "" && !after(latest, m.TS):
			return !inclusive || m.TS != latest
		}
		return false
	})
}

// told are messages as read later.
func (c *call) told(some []*message) []Message {
	all := []Message{}
	for _, m := range some {
		told := m.Message
		if !c.flag("include_all_metadata") {
			told.Metadata = nil
		}
		all = append(all, told)
	}
	return all
}

// history answers with the newest messages first. Replies in threads are left out, except those sent to the channel too.
func history(c *call) (answer, *Error) {
	v, refusal := c.member("history")
	if refusal != nil {
		return nil, refusal
	}
	all := slices.DeleteFunc(c.between(v.messages), func(m *message) bool { return m.ThreadTS != "" && m.ThreadTS != m.TS && !m.broadcast })
	slices.Reverse(all)
	some, next := page(c, all, 100)
	return answer{"messages": c.told(some), "has_more": next != "", "pin_count": 0, "response_metadata": more(next)}, nil
}

// replies answers with a thread, its first message first, which is always there.
func replies(c *call) (answer, *Error) {
	v, refusal := c.member("history")
	if refusal != nil {
		return nil, refusal
	}
	root := v.message(c.text("ts"))
	if root == nil {
		return nil, refuse("thread_not_found")
	}
	all := append([]*message{root}, c.between(v.replies(root.TS))...)
	some, next := page(c, all, 100)
	return answer{"messages": c.told(some), "has_more": next != "", "response_metadata": more(next)}, nil
}

// member is conversation, for what only members may do.
func (c *call) member(right string) (*conversation, *Error) {
	v, refusal := c.conversation(right)
	if refusal == nil && !v.has(c.app.user) {
		refusal = refuse("not_in_channel")
	}
	return v, refusal
}
