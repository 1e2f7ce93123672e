package llm

import "context"

// Provider asks models.
type Provider interface {
	// Complete asks a model for what comes next, and waits for all of it. stream is told what there is so far; it may be nil, and it
	// may block: the model waits. The package's comment says what is promised.
	Complete(ctx context.Context, r *Request, stream func(Chunk)) (*Answer, error)
}

// Chunk is a piece of an answer on its way. One of its fields is set.
type Chunk struct {
	Text     string     // comes after the text so far
	Thinking string     // what the model says to itself; no part of the answer
	ToolCall *ToolStart // the model begins to write a call
}

// ToolStart is a call of which the arguments are not known yet.
type ToolStart struct{ ID, Name string }

// Answer is what a model has said. Its Text is what was streamed as text, its ToolCalls are those whose start was, in that order.
type Answer struct {
	Text       string
	ToolCalls  []ToolCall
	StopReason StopReason
	Usage      Usage
	Provider   string
	Model      string // that answered, as the provider names it; an endpoint may choose a version of the one that was asked
}

// StopReason says why an answer ends.
type StopReason string

const (
	Stop     StopReason = "stop"     // the model is done
	ToolUse  StopReason = "toolUse"  // it waits for the results of its calls
	Length   StopReason = "length"   // it was cut off: by MaxTokens, or by the window of the model
	Filtered StopReason = "filtered" // it was cut off or refused for what it says
)

// Usage counts tokens. It is zero where a provider does not tell it.
type Usage struct {
	Input  int // all that was read, Cached included
	Output int // all that was written, thinking included
	Total  int
	Cached int // of Input, cheaper
}
