package discord

import "github.com/pronto-lab/openclawd/channel"

// facts converts Discord's message. The place and our bots are added elsewhere.
func (m *messageShape) facts() channel.Message {
	f := channel.Message{
		ID: m.ID, ChannelID: m.ChannelID, GuildID: m.GuildID, Content: m.Content, MentionRoles: m.MentionRoles, MentionEveryone: m.MentionEveryone,
		Command: m.Type == typeSlash || m.Type == typeContext, Nonce: m.nonce(), At: madeAt(snowflake(m.ID)),
	}
	if m.Author != nil {
		f.Author = channel.Author{User: channel.User{ID: m.Author.ID, Name: m.Author.name(), Bot: m.Author.Bot}, Webhook: m.WebhookID != ""}
	}
	if m.Member != nil {
		f.Author.Roles = m.Member.Roles
	}
	for i := range m.Mentions {
		f.Mentions = append(f.Mentions, channel.User{ID: m.Mentions[i].ID, Name: m.Mentions[i].name(), Bot: m.Mentions[i].Bot})
	}
	for _, a := range m.Attachments {
		file := channel.Attachment{Name: a.Filename, Type: a.ContentType, URL: a.URL, Size: a.Size}
		if _, ours := fileAddress(a.URL); ours {
			file.Ref = a.URL
		}
		f.Attachments = append(f.Attachments, file)
	}
	if m.Reference != nil && m.Reference.Type == 0 {
		f.ReplyTo = m.Reference.MessageID
	}
	if f.ReplyTo != "" && m.Referenced != nil && m.Referenced.Author != nil {
		f.ReplyAuthor = m.Referenced.Author.ID
	}
	if m.Edited != nil {
		f.EditedAt = m.Edited.UnixMilli()
	}
	return f
}
