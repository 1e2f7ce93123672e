package a2a

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Words of an answer that mean that there is none.
const (
	wordReplySkip    = "REPLY_SKIP"
	wordAnnounceSkip = "ANNOUNCE_SKIP"
	wordNoReply      = "NO_REPLY"
)

// SkipsReply reports whether an answer ends the exchange: REPLY_SKIP, alone or followed by a full stop or a blank.
// Case is ignored.
func SkipsReply(text string) bool { return skips(text, wordReplySkip) }

// SkipsAnnounce does the same for ANNOUNCE_SKIP.
func SkipsAnnounce(text string) bool { return skips(text, wordAnnounceSkip) }

func skips(text, word string) bool {
	text = coordination.TrimJS(Plain(text))
	if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
		return false
	}
	rest := text[len(word):]
	return rest == "" || rest[0] == '.' || rest[0] == ' '
}

// Silent reports whether a text is empty: blank, or NO_REPLY alone.
func Silent(text string) bool {
	text = coordination.TrimJS(Plain(text))
	return text == "" || text == wordNoReply
}
