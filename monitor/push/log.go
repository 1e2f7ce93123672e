package push

import "context"

// Log is where the events come from and how they are put into words.
type Log interface {
	// Wait blocks until the log's head is at least seq, and returns the head.
	Wait(ctx context.Context, seq int64) (int64, error)
	// Page reads on after a seq, to upTo at most. It gets at least one event further, and holds nothing open when it returns.
	Page(ctx context.Context, after, upTo int64) (*Page, error)
}

// Page is a run of the log as it is sent.
type Page struct {
	Seq    int64     // it ends here
	Public []Message // for everybody
	Full   []Message // for clients who ask for the system's own book-keeping too; nil: the same
}

func (p *Page) messages(full bool) []Message {
	if full && p.Full != nil {
		return p.Full
	}
	return p.Public
}
