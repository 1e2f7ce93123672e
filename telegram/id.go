package telegram

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// place is a chat, or a topic in it, as Telegram names it.
type place struct {
	chat  int64
	bot   int64 // of a private chat: whose it is; 0 is not said
	topic int
}

// placeID is the id of a place in the log. A private chat has the person's id in Telegram, whichever bot it belongs to,
// so here the bot's is added: telegram:7000001009.7000002018.
func placeID(p place) string {
	id := coordination.ChatID{Channel: coordination.Telegram, Chat: strconv.FormatInt(p.chat, 10)}
	if p.bot != 0 {
		id.Chat += "." + strconv.FormatInt(p.bot, 10)
	}
	if p.topic != 0 {
		id.Thread = strconv.Itoa(p.topic)
	}
	return id.String()
}

var errNoPlace = errors.New("this is no chat of Telegram")

// parsePlace reads the id of a place or a thread. The bot of a private chat may be missing.
func parsePlace(id string) (p place, err error) {
	parsed, ok := coordination.ParseChatID(id)
	if !ok || parsed.Channel != coordination.Telegram || !parsed.Canonical() || parsed.Message != "" {
		return p, errNoPlace
	}
	chat, bot, found := strings.Cut(parsed.Chat, ".")
	if p.chat, err = strconv.ParseInt(chat, 10, 64); err != nil || p.chat == 0 {
		return p, errNoPlace
	}
	if found {
		if p.bot, err = strconv.ParseInt(bot, 10, 64); err != nil {
			return p, errNoPlace
		}
	}
	if parsed.Thread != "" {
		if p.topic, err = strconv.Atoi(parsed.Thread); err != nil {
			return p, errNoPlace
		}
	}
	return p, nil
}

// parseMessage reads the chat and the part that names the message of an id in the log.
func parseMessage(id string) (p place, message string, ok bool) {
	parsed, ok := coordination.ParseChatID(id)
	if !ok || parsed.Message == "" || !parsed.Canonical() {
		return p, "", false
	}
	p, err := parsePlace(coordination.ChatID{Channel: parsed.Channel, Chat: parsed.Chat}.String())
	return p, parsed.Message, err == nil
}

// placeFor is the place of a request as the bot user names it; refused if it is another bot's conversation.
func placeFor(deed, account, id string, user int64) (place, error) {
	p, err := parsePlace(id)
	if err != nil {
		return p, channel.Local(deed, account, "", http.StatusBadRequest, fmt.Errorf("%q: %w", coordination.Head(id, maxShown), err),
			"write a chat like telegram:-1001234567890, a topic like telegram:-1001234567890:topic:7")
	}
	if p.bot != 0 && user != 0 && p.bot != user {
		return p, channel.Local(deed, account, id, http.StatusForbidden, errors.New("the conversation is another bot's"), "post as the bot that the person talks to")
	}
	return p, nil
}

// maxShown is how many characters of an invalid value an error shows.
const maxShown = 50

// numbered is the place of a message, with the bot of a private chat.
func numbered(chat *chatShape, user int64) place {
	p := place{chat: chat.ID}
	if chat.Type == typePrivate {
		p.bot = user
	}
	return p
}

// messageID is the id of a message in the log, as the bot user sees it.
func messageID(m *messageShape, user int64) string {
	p, own := numbered(&m.Chat, user), strconv.Itoa(m.ID)
	if m.Chat.Type == typeGroup {
		own = fingerprint(m)
	}
	return coordination.ChatID{Channel: coordination.Telegram, Chat: strings.TrimPrefix(placeID(p), coordination.Telegram+":"), Message: own}.String()
}

// fingerprint names a message of a basic group, where each bot sees another number: by what is the same for all.
func fingerprint(m *messageShape) string {
	var from int64
	if m.From != nil {
		from = m.From.ID
	}
	text, _ := m.said()
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d\n%d\n%s\n", m.Date, from, text)
	for _, f := range m.files() {
		_, _ = fmt.Fprintf(h, "%s\n", f.UniqueID)
	}
	return "h" + hex.EncodeToString(h.Sum(nil)[:12])
}

func idText(id int64) string { return strconv.FormatInt(id, 10) }
