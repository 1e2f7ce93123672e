package llm

import "unicode/utf8"

// EstimateTokens says about how many tokens a text has, for budgets: four ASCII characters are one, any other character is one. For
// Korean that is rather too much, which is the safe side.
func EstimateTokens(text string) int {
	ascii, other := 0, 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			ascii++
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		other++
		i += size
	}
	return (ascii+3)/4 + other
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
		n += messageTokens + EstimateTokens(m.ToolCalls[i].Name) + EstimateTokens(string(m.ToolCalls[i].Arguments))
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
		n += messageTokens + EstimateTokens(r.Tools[i].Name) + EstimateTokens(r.Tools[i].Description) + EstimateTokens(string(r.Tools[i].Schema))
	}
	return n
}
