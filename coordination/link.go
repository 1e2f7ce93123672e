package coordination

import (
	"net/url"
	"strings"
)

// Site is where a workspace of Slack is in the web.
type Site struct {
	GuildID string // the workspace's id, as in the log
	URL     string // https://team.slack.com/
}

// Link is the address of a message in its service, or with message "" of its place or thread; "" if there is none. guild
// is "" for a conversation with one person. Slack has an address of its own for each workspace: without it among sites, a
// link opens the conversation.
func Link(guild, place, message string, sites []Site) string {
	at, ok := ParseChatID(place)
	if !ok {
		return ""
	}
	switch at.Channel {
	case Telegram:
		return telegramLink(at, message)
	case Slack:
		return slackLink(guild, at, message, sites)
	}
	if guild == "" {
		guild = "@me"
	}
	return withPath("https://discord.com/channels", guild, place, message)
}

// telegramLink is an address in a supergroup. Private chats and basic groups have none.
func telegramLink(at ChatID, message string) string {
	group, is := strings.CutPrefix(at.Chat, supergroup)
	if !is {
		return ""
	}
	number := ""
	if id, ok := ParseChatID(message); ok && id.Chat == at.Chat {
		number = id.Message
	}
	if at.Thread == "" && number == "" {
		return ""
	}
	return withPath("https://t.me/c", group, at.Thread, number)
}

// supergroup begins the id of a supergroup, before the number that links contain.
const supergroup = "-100"

func slackLink(guild string, at ChatID, message string, sites []Site) string {
	chat := strings.ToUpper(at.Chat)
	site := siteOf(guild, sites)
	if site == "" {
		team, ok := ParseChatID(guild)
		if !ok || team.Channel != Slack {
			return ""
		}
		return withPath("https://app.slack.com/client", strings.ToUpper(team.Chat), chat)
	}
	stamp := at.Thread
	if id, ok := ParseChatID(message); ok && id.Chat == at.Chat && id.Message != "" {
		stamp = id.Message
	}
	if stamp == "" {
		return withPath(site, "archives", chat)
	}
	link := withPath(site, "archives", chat, "p"+strings.ReplaceAll(stamp, ".", ""))
	if at.Thread != "" && at.Thread != stamp {
		link += "?" + url.Values{"thread_ts": {at.Thread}, "cid": {chat}}.Encode()
	}
	return link
}

// siteOf is the address of a workspace without a slash at its end; "" if it is unknown. A conversation with one person
// does not name its workspace: it is in the only one that is known.
func siteOf(guild string, sites []Site) (address string) {
	for _, s := range sites {
		switch {
		case guild != "" && s.GuildID != guild:
		case address != "" && address != s.URL:
			return ""
		default:
			address = s.URL
		}
	}
	return strings.TrimSuffix(address, "/")
}

func withPath(base string, parts ...string) string {
	for _, p := range parts {
		if p != "" {
			base += "/" + url.PathEscape(p)
		}
	}
	return base
}

// MessageOfLink returns the id in the log of the message that a link names; "" if it names none. It reads what Link
// writes, and what the services' own menus copy.
func MessageOfLink(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	last := parts[len(parts)-1]
	id := ChatID{}
	switch host := strings.TrimPrefix(u.Hostname(), "www."); {
	case inDomain(host, "discord.com", "discordapp.com") && len(parts) == 4 && parts[0] == "channels":
		id = ChatID{Channel: Discord, Chat: last}
	case host == "t.me" && (len(parts) == 3 || len(parts) == 4) && parts[0] == "c":
		id = ChatID{Channel: Telegram, Chat: supergroup + parts[1], Message: last}
	case inDomain(host, "slack.com") && len(parts) == 3 && parts[0] == "archives":
		id = ChatID{Channel: Slack, Chat: strings.ToLower(parts[1]), Message: stampInLink(last)}
	}
	text := id.String()
	c, known := ChannelNamed(id.Channel)
	if id.Channel == "" || !known || !c.IsMessageID(text) {
		return ""
	}
	return text
}

// inDomain reports whether a host is one of these domains, or below one.
func inDomain(host string, domains ...string) bool {
	for _, d := range domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// stampDecimals is how many digits of a timestamp of Slack are behind the point, which links leave out.
const stampDecimals = 6

func stampInLink(part string) string {
	digits, is := strings.CutPrefix(part, "p")
	n := len(digits) - stampDecimals
	if !is || n <= 0 {
		return ""
	}
	return digits[:n] + "." + digits[n:]
}
