package coordination

import "math"

// ThreadKind is what a thread of a work session is grouped by.
type ThreadKind string

const (
	ThreadConversation ThreadKind = "conversation"
	ThreadPair         ThreadKind = "pair"
	ThreadEvent        ThreadKind = "event"
)

// UnknownAgent replaces an unnamed agent.
const UnknownAgent = "unknown"

// threadWindowMs is the window that groups events without agents.
const threadWindowMs = 5 * 60 * 1000

// ThreadKey names the thread of an event within its work session: conv:<conversationId>, else pair:<a>_<b> with both agents as written,
// sorted by UTF-16 code unit, else event:<type>:<number of the 5 minutes since 1970>.
func ThreadKey(r *Record) (key string, kind ThreadKind) {
	if r.ConversationID != "" {
		return "conv:" + r.ConversationID, ThreadConversation
	}
	a, b := firstText(r.From(), UnknownAgent), firstText(r.To(), UnknownAgent)
	if a == UnknownAgent && b == UnknownAgent {
		return "event:" + r.Type + ":" + formatMs(math.Floor(r.Time/threadWindowMs)), ThreadEvent
	}
	if lessUTF16(b, a) {
		a, b = b, a
	}
	return "pair:" + a + "_" + b, ThreadPair
}

// lessUTF16 orders strings by UTF-16 code unit, in which characters beyond the basic plane come before U+E000.
func lessUTF16(a, b string) bool {
	as, bs := []rune(a), []rune(b)
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return utf16Rank(as[i]) < utf16Rank(bs[i])
		}
	}
	return len(as) < len(bs)
}

// utf16Rank orders characters by their first code unit, then by value.
func utf16Rank(r rune) int64 {
	const firstSurrogate = 0xD800
	if r < 0x10000 {
		return int64(r) << 20
	}
	return int64(firstSurrogate+(r-0x10000)>>10)<<20 | int64(r)&0x3FF
}
