package catalogue

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Model is a usable model. It is an llm.Provider for this model only, and safe for concurrent use.
type Model struct {
	Ref           string // provider/id
	ProviderID    string
	ID            string
	ContextWindow int  // context window in tokens
	MaxTokens     int  // maximum answer in tokens; 0 if not configured
	Images        bool // supports images

	plain    bool // does not support thinking
	provider llm.Provider
}

// NoImage replaces an image shown to a model without image support.
const NoImage = "[an image that this model cannot see]"

// Complete implements llm.Provider. It always uses this model, and drops what the model does not support: thinking,
// images, or longer answers.
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
