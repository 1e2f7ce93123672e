package coordination

// Pairing is the data of the pairing types: whether a person may write direct messages to the agents of a channel. The person is the
// user id; the name is only shown.
type Pairing struct {
	Context
	Channel   string `json:"channel"`
	UserID    string `json:"userId,omitempty"` // absent of refused: the code names no person
	UserName  string `json:"userName,omitempty"`
	AccountID string `json:"accountId,omitempty"` // of requested: the bot that the person wrote to
	AgentID   string `json:"agentId,omitempty"`   // likewise: its agent
	ChannelID string `json:"channelId,omitempty"` // likewise: the conversation
	MessageID string `json:"messageId,omitempty"` // likewise: the message, which no agent handles
	Code      string `json:"code,omitempty"`      // likewise: what the person was told
	UntilMs   int64  `json:"untilMs,omitempty"`   // likewise: the end of the request
	By        string `json:"by,omitempty"`        // of the others: who decided
}
