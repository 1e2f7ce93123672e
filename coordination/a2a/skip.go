package a2a

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Words by which an answer says that there is none.
const (
	wordReplySkip    = "REPLY_SKIP"
	wordAnnounceSkip = "ANNOUNCE_SKIP"
	wordNoReply      = "NO_REPLY"
)

// SkipsReply reports whether an answer says that there is nothing more to say: REPLY_SKIP, alone or followed by a full stop or a blank.
// Capitals make no difference.
func SkipsReply(text string) bool { return skips(text, wordReplySkip) }

// SkipsAnnounce is the same of ANNOUNCE_SKIP.
func SkipsAnnounce(text string) bool { return skips(text, wordAnnounceSkip) }

func skips(text, word string) bool {
	text = coordination.TrimJS(Plain(text))
	if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
		return false
	}
	rest := text[len(word):]
	return rest == "" || rest[0] == '.' || rest[0] == ' '
}

// Silent reports whether a text is none: blank, or NO_REPLY alone.
func Silent(text string) bool {
	text = coordination.TrimJS(Plain(text))
	return text == "" || text == wordNoReply
}
