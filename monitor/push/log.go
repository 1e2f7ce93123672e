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
	Public []Message // for clients without topics
	Full   []Message // for those that requested internal events; nil: the same

	// Chosen formats it for clients with topics; nil: without messages.
	Chosen func(View) ([]Message, error)
}

// View is what a client is sent of the log. Its zero value is what clients get that ask for nothing.
type View struct {
	Full   bool // internal events too
	Topics Topic
	Slim   bool // events without their data; only with topics
}

// Topic is a set of kinds of messages.
type Topic uint8

// Topics. Clients without any get events and the hints that there were before topics.
const (
	Events Topic = 1 << iota
	Hints        // messages beside events, from the log and from Publish
	Ticks        // the position, at intervals
)

// Has reports whether a set has all topics of another one.
func (t Topic) Has(all Topic) bool { return t&all == all }

func (p *Page) messages(v View) ([]Message, error) {
	switch {
	case v.Topics != 0 && p.Chosen != nil:
		return p.Chosen(v)
	case v.Topics != 0:
		return nil, nil
	case v.Full && p.Full != nil:
		return p.Full, nil
	}
	return p.Public, nil
}
