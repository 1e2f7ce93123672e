package delivery

import "github.com/pronto-lab/openclawd/coordination"

// Post is a message to post that a client of the gateway or an agent has given.
type Post struct {
	Channel    string // its name; "" is Discord
	Key        string // deduplicates repeated requests
	AgentID    string // agent shown as the author; "" is the account itself
	AccountID  string // account that posts; "" is the agent's, or the default one without agent
	To         string // channel:<id>, or the id alone
	ThreadID   string
	ReplyTo    string // id of the message it replies to
	Text       string // may be "" with files
	Files      []File
	Context    coordination.Context
	RunID      string // the run that posts it; "" for a client
	SessionKey string // session whose transcript receives the text once it is posted, if the session exists; "" is none
}

// Sent is the state of a post.
type Sent struct {
	Channel    string // its name; "" like the places if redacted
	Over       bool
	State      State  // of a final one
	AccountID  string // posting account; "" like the places if redacted
	ChannelID  string
	ThreadID   string
	MessageIDs []string // posted, in order
	Code       string   // of a failed or unconfirmed post
	Text       string   // likewise
	Hint       string   // likewise
}
