package llm

import "unicode/utf8"

// EstimateTokens says about how many tokens a text has, for budgets: four ASCII characters are one, any other character is one. For
// Korean that is rather too much, which is the safe side.
func EstimateTokens(text string) int { return estimate(text) }

func estimate[T ~string | ~[]byte](text T) int {
	ascii, other := 0, 0
	for i := 0; i < len(text); {
		switch {
		case i+8 <= len(text) && isASCII(text[i:i+8]):
			ascii += 8
			i += 8
		case text[i] < utf8.RuneSelf:
			ascii++
			i++
		default:
			_, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			other++
			i += size
		}
	}
	return (ascii+3)/4 + other
}

// isASCII looks at eight bytes at once: texts of a run are counted several times.
func isASCII[T ~string | ~[]byte](eight T) bool {
	_ = eight[7]
	const high = 0x8080808080808080
	return (uint64(eight[0])|uint64(eight[1])<<8|uint64(eight[2])<<16|uint64(eight[3])<<24|
		uint64(eight[4])<<32|uint64(eight[5])<<40|uint64(eight[6])<<48|uint64(eight[7])<<56)&high == 0
}

// Tokens that are no text.
const (
	messageTokens = 4     // of a message's frame
	imageTokens   = 1_500 // of a picture
)

// EstimateTokens says about how many tokens of a model's window a message takes.
func (m *Message) EstimateTokens() int {
	n := messageTokens + EstimateTokens(m.Text) + imageTokens*len(m.Images)
	for i := range m.ToolCalls {
		n += messageTokens + EstimateTokens(m.ToolCalls[i].Name) + estimate(m.ToolCalls[i].Arguments)
	}
	return n
}

// EstimateTokens says about how many tokens of a model's window a request takes.
func (r *Request) EstimateTokens() int {
	n := EstimateTokens(r.System)
	for i := range r.Messages {
		n += r.Messages[i].EstimateTokens()
	}
	for i := range r.Tools {
		n += messageTokens + EstimateTokens(r.Tools[i].Name) + EstimateTokens(r.Tools[i].Description) + estimate(r.Tools[i].Schema)
	}
	return n
}
