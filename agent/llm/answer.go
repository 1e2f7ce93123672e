package llm

import "context"

// Provider calls language models.
type Provider interface {
	// Complete requests the next answer and waits for all of it. stream receives the parts as they arrive; it may be
	// nil, and it may block, which delays the model. For guarantees see the package comment.
	Complete(ctx context.Context, r *Request, stream func(Chunk)) (*Answer, error)
}

// Chunk is a part of a streamed answer. Exactly one field is set.
type Chunk struct {
	Text     string     // appended to the text so far
	Thinking string     // the model's thinking; not part of the answer
	ToolCall *ToolStart // the model starts a tool call
}

// ToolStart is a tool call whose arguments are not known yet.
type ToolStart struct{ ID, Name string }

// Answer is a complete answer. Its Text is the streamed text, its ToolCalls are those announced, in that order.
type Answer struct {
	Text       string
	ToolCalls  []ToolCall
	StopReason StopReason
	Usage      Usage
	Provider   string
	Model      string // model that answered, as named by the provider; an endpoint may select a version
}

// StopReason says why an answer ended.
type StopReason string

const (
	Stop     StopReason = "stop"     // the model is done
	ToolUse  StopReason = "toolUse"  // the model waits for tool results
	Length   StopReason = "length"   // truncated by MaxTokens or the context window
	Filtered StopReason = "filtered" // truncated or refused by a content filter
)

// Usage counts tokens. It is zero if the provider reports none.
type Usage struct {
	Input  int // all tokens read, including Cached
	Output int // all tokens written, including thinking
	Total  int
	Cached int // part of Input, at a lower price
}
