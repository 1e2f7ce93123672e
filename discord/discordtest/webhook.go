package discordtest

import (
	"strings"
	"unicode/utf8"
)

type webhook struct {
	Webhook
	channel *channel
}

// These routes are authorized by a token in the path: a webhook's, or an interaction's, whose webhook has the
// application's id.
func (s *Server) webhookRoutes() []route {
	const hook = "/webhooks/{webhook}/{token}"
	return []route{
		{name: "POST /channels/{channel}/webhooks", do: s.createWebhook},
		{name: "GET /channels/{channel}/webhooks", do: s.listWebhooks},
		{name: "GET /webhooks/{webhook}", do: func(c *call) (any, *Error) {
			w := s.webhooks[c.path("webhook")]
			if w == nil {
				return nil, notFound(CodeUnknownWebhook, "Webhook")
			}
			return w.Webhook, s.need(c.by, w.channel, ManageWebhooks)
		}},
		{name: "DELETE /webhooks/{webhook}", do: func(c *call) (any, *Error) {
			w := s.webhooks[c.path("webhook")]
			if w == nil {
				return nil, notFound(CodeUnknownWebhook, "Webhook")
			}
			if refusal := s.need(c.by, w.channel, ManageWebhooks); refusal != nil {
				return nil, refusal
			}
			delete(s.webhooks, w.ID)
			return nil, nil
		}},
		{name: "GET " + hook, open: true, do: func(c *call) (any, *Error) {
			w, _, refusal := s.hookIn(c)
			if refusal != nil {
				return nil, refusal
			}
			if w == nil {
				return nil, notFound(CodeUnknownWebhook, "Webhook")
			}
			told := w.Webhook
			told.User = nil
			return told, nil
		}},
		{name: "POST " + hook, open: true, do: func(c *call) (any, *Error) {
			w, i, refusal := s.hookIn(c)
			switch {
			case refusal != nil:
				return nil, refusal
			case i != nil:
				return s.followUp(c, i)
			}
			return s.executeWebhook(c, w)
		}},
		{name: "GET " + hook + "/messages/{message}", open: true, do: s.hookMessage(func(_ *call, m *message) (any, *Error) {
			return s.messageFor(m, nil), nil
		})},
		{name: "PATCH " + hook + "/messages/{message}", open: true, do: s.hookMessage(func(c *call, m *message) (any, *Error) {
			var edit change
			if refusal := c.decode(&edit); refusal != nil {
				return nil, refusal
			}
			if refusal := s.edit(nil, m, edit); refusal != nil {
				return nil, refusal
			}
			return s.messageFor(m, nil), nil
		})},
		{name: "DELETE " + hook + "/messages/{message}", open: true, do: s.hookMessage(func(_ *call, m *message) (any, *Error) {
			return nil, s.deleteMessage(nil, m)
		})},
	}
}

// hookIn returns the token's webhook or interaction.
func (s *Server) hookIn(c *call) (*webhook, *interaction, *Error) {
	if i := s.interactions[c.path("token")]; i != nil && i.bot.ID == c.path("webhook") {
		switch {
		case !s.now().Before(i.at.Add(tokenLife)):
			return nil, nil, &Error{Status: 401, Code: CodeWebhookToken, Message: "Invalid Webhook Token"}
		case i.Answer == 0:
			return nil, nil, notFound(CodeUnknownWebhook, "Webhook")
		}
		return nil, i, nil
	}
	w := s.webhooks[c.path("webhook")]
	switch {
	case w == nil:
		return nil, nil, notFound(CodeUnknownWebhook, "Webhook")
	case w.Token != c.path("token"):
		return nil, nil, &Error{Status: 401, Code: CodeWebhookToken, Message: "Invalid Webhook Token"}
	}
	return w, nil, nil
}

// hookMessage returns the message in the path, which has to be one of the token's own.
func (s *Server) hookMessage(do func(*call, *message) (any, *Error)) handler {
	return func(c *call) (any, *Error) {
		w, i, refusal := s.hookIn(c)
		if refusal != nil {
			return nil, refusal
		}
		if i != nil {
			if m := i.message(c.path("message")); m != nil {
				return s.answerMessage(c, i, m, do)
			}
			return nil, notFound(CodeUnknownMessage, "Message")
		}
		ch := w.channel
		if id := c.query("thread_id"); id != "" {
			if ch = s.channels[id]; ch == nil || ch.parent() != w.ChannelID {
				return nil, notFound(CodeUnknownChannel, "Channel")
			}
		}
		m := ch.message(c.path("message"))
		if m == nil || m.WebhookID != w.ID {
			return nil, notFound(CodeUnknownMessage, "Message")
		}
		return do(c, m)
	}
}

type webhookForm struct {
	Name string `json:"name"`
}

func (s *Server) createWebhook(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, ManageWebhooks)
	if refusal != nil {
		return nil, refusal
	}
	var form webhookForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(form.Name)); n < 1 || n > 80 {
		return nil, badLength("name", 1, 80)
	}
	if ch.IsThread() || ch.guild == nil {
		return nil, badRequest(CodeWrongChannelType, "Cannot execute action on this channel type")
	}
	user, application := c.by.User, c.by.ID
	id := s.next()
	w := &webhook{channel: ch, Webhook: Webhook{ID: id, Type: 1, GuildID: ch.GuildID, ChannelID: ch.ID, User: &user, Name: strings.TrimSpace(form.Name),
		Token: "hook-" + id, ApplicationID: &application}}
	s.webhooks[id] = w
	return w.Webhook, nil
}

func (s *Server) listWebhooks(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, ManageWebhooks)
	if refusal != nil {
		return nil, refusal
	}
	all := []Webhook{}
	for _, w := range sorted(s.webhooks) {
		if w.channel == ch {
			all = append(all, w.Webhook)
		}
	}
	return all, nil
}

func (s *Server) executeWebhook(c *call, w *webhook) (any, *Error) {
	d := draft{files: c.files}
	if refusal := c.decode(&d); refusal != nil {
		return nil, refusal
	}
	if refusal := d.check(); refusal != nil {
		return nil, refusal
	}
	ch := w.channel
	if s.channels[ch.ID] == nil {
		return nil, notFound(CodeUnknownChannel, "Channel")
	}
	if id := c.query("thread_id"); id != "" {
		if ch = s.channels[id]; ch == nil || ch.parent() != w.ChannelID {
			return nil, notFound(CodeUnknownChannel, "Channel")
		}
		if ch.Thread.Archived && ch.Thread.Locked {
			return nil, badRequest(CodeThreadArchived, "Thread is archived")
		}
		if ch.Thread.Archived {
			s.setArchived(ch, false)
		}
	}
	m := s.compose(nil, ch, d)
	m.WebhookID, m.Author = w.ID, User{ID: w.ID, Username: w.Name, Discriminator: "0000", Bot: true}
	if d.Username != "" {
		m.Author.Username = d.Username
	}
	if w.ApplicationID != nil {
		m.ApplicationID = *w.ApplicationID
	}
	s.post(m)
	if c.query("wait") != "true" {
		return nil, nil
	}
	return s.messageFor(m, nil), nil
}
