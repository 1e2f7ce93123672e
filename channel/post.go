package channel

import (
	"context"
	"encoding/json"
	"time"
)

// Post is a message to post.
type Post struct {
	AccountID string
	ChannelID string // a channel, thread or conversation
	Content   string // "" with a File
	File      *File
	Nonce     string   // stable for the same message across retries; 1 to 25 characters
	Notify    []string // user ids that are notified if the text mentions them; no others are
	ReplyTo   string   // id of the message it replies to, without notifying its author; a missing one is ignored

	// Components are the buttons below it: an array in the service's own form; see Poster.Components. nil is none.
	Components json.RawMessage
}

// File is a file to post, or to search for.
type File struct {
	Name, Type string
	Size       int64
	Content    []byte // nil in a Lookup
}

// FileTime is how long a request may take that posts a file.
const FileTime = time.Minute

// Posted is a posted message.
type Posted struct {
	ID        string
	ChannelID string
	GuildID   string // "" in conversations with one person, and if the service does not say it

	// Tell delivers the message to Options.OnMessage, if the service does not tell bots of each other's messages; else nil.
	// It is called once the log records the post: then a kill in between loses nothing, and nothing is told twice.
	Tell func(ctx context.Context)
	At   int64 // ms since 1970
}

// Opening is a public thread to start.
type Opening struct {
	AccountID string
	ChannelID string
	Name      string // 1 to 100 characters

	// Starter is the first message if the channel is a forum; nil otherwise. Its account and channel are ignored.
	Starter *Post
	// MessageID is the message it is attached to; "" is none.
	MessageID string
}

// Thread is a thread, or a topic.
type Thread struct {
	ID        string
	Name      string
	ChannelID string // its parent channel
	GuildID   string
	OwnerID   string // user id of its creator
	MessageID string // id of its first message, if the channel is a forum
}

// Lookup describes what to search for after a request with unknown outcome.
type Lookup struct {
	AccountID string
	ChannelID string
	Nonce     string // messages only
	Content   string // messages only, used if the service does not return the nonce
	File      *File  // likewise: its size
	ReplyTo   string // messages only: what it replies to
	Name      string // threads only
	Since     int64  // ms since 1970: time of the first request

	// Other reports whether a candidate is known to be something else; nil: never.
	Other func(id string) (bool, error)
}

// Excludes reports whether a candidate is known to be something else.
func (l *Lookup) Excludes(id string) (bool, error) {
	if l.Other == nil {
		return false, nil
	}
	return l.Other(id)
}

// Button is a button below a message. A press arrives as an Interaction of KindButton whose Name is the ID.
type Button struct {
	ID    string
	Label string
	Style ButtonStyle
}

// ButtonStyle is the meaning of a button, which some services show by its colour.
type ButtonStyle int

const (
	ButtonPlain ButtonStyle = iota
	ButtonGood
	ButtonDanger
)
