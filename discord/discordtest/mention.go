package discordtest

import (
	"regexp"
	"slices"
	"strings"
)

var (
	codeText      = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	userMention   = regexp.MustCompile(`<@!?(\d+)>`)
	roleMention   = regexp.MustCompile(`<@&(\d+)>`)
	everyoneNamed = regexp.MustCompile(`@(?:everyone|here)\b`)
)

// callFor returns whom a message notifies: users mentioned outside of code, as far as its author allows. In a guild
// only members.
func (s *Server) callFor(m *message, allowed *AllowedMentions) {
	text := codeText.ReplaceAllLiteralString(m.Content, "")
	may := func(kind string, ids func(*AllowedMentions) []string, id string) bool {
		return allowed == nil || slices.Contains(allowed.Parse, kind) || slices.Contains(ids(allowed), id)
	}
	for _, found := range userMention.FindAllStringSubmatch(text, -1) {
		a := s.accounts[found[1]]
		here := a != nil && (m.channel.guild == nil || m.channel.guild.member(a.ID) != nil)
		if here && may("users", func(l *AllowedMentions) []string { return l.Users }, a.ID) {
			m.mention(a.User)
		}
	}
	if m.channel.guild == nil {
		return
	}
	for _, found := range roleMention.FindAllStringSubmatch(text, -1) {
		known := slices.ContainsFunc(m.channel.guild.info.Roles, func(r Role) bool { return r.ID == found[1] })
		if known && !slices.Contains(m.MentionRoles, found[1]) && may("roles", func(l *AllowedMentions) []string { return l.Roles }, found[1]) {
			m.MentionRoles = append(m.MentionRoles, found[1])
		}
	}
	if strings.Contains(text, "@") && everyoneNamed.MatchString(text) && m.author != nil {
		m.MentionEveryone = s.may(m.author, m.channel).has(MentionEveryone) && may("everyone", func(*AllowedMentions) []string { return nil }, "")
	}
}
