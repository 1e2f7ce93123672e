package catalogue

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Model is a model that can be asked. It is an llm.Provider that asks only this one, and may be used by many goroutines.
type Model struct {
	Ref           string // provider/id
	ProviderID    string
	ID            string
	ContextWindow int  // tokens that it can read and write
	MaxTokens     int  // of an answer; 0 if the configuration does not say
	Images        bool // it can see

	plain    bool // it does not think before it speaks
	provider llm.Provider
}

// NoImage stands for a picture that was shown to a model which cannot see.
const NoImage = "[an image that this model cannot see]"

// Complete is that of llm.Provider. It asks this model, whatever the request names, and asks for nothing that the model is said not to
// have: thinking, pictures, or an answer longer than it can give.
func (m *Model) Complete(ctx context.Context, r *llm.Request, stream func(llm.Chunk)) (*llm.Answer, error) {
	asked := *r
	asked.Model = m.ID
	if m.plain {
		asked.Thinking = ""
	}
	if m.MaxTokens > 0 && asked.MaxTokens > m.MaxTokens {
		asked.MaxTokens = m.MaxTokens
	}
	if !m.Images {
		asked.Messages = withoutImages(r.Messages)
	}
	return m.provider.Complete(ctx, &asked, stream)
}

func withoutImages(messages []llm.Message) []llm.Message {
	if !slices.ContainsFunc(messages, func(m llm.Message) bool { return len(m.Images) > 0 }) {
		return messages
	}
	blind := slices.Clone(messages)
	for i := range blind {
		m := &blind[i]
		for range m.Images {
			if m.Text != "" {
				m.Text += "\n"
			}
			m.Text += NoImage
		}
		m.Images = nil
	}
	return blind
}
