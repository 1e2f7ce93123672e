package push

import "context"

// Log is the source of the events and their formatting.
type Log interface {
	// Wait blocks until the log's head is at least seq, and returns the head.
	Wait(ctx context.Context, seq int64) (int64, error)
	// Page reads events after a seq, up to upTo at most. It advances by at least one event, and holds nothing open
	// when it returns.
	Page(ctx context.Context, after, upTo int64) (*Page, error)
}

// Page is a formatted section of the log.
type Page struct {
	Seq    int64     // its last seq
	Public []Message // for all clients
	Full   []Message // for clients that requested internal events; nil: the same
}

func (p *Page) messages(full bool) []Message {
	if full && p.Full != nil {
		return p.Full
	}
	return p.Public
}
