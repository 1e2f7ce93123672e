package discord

import (
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// State is how the connection of a bot stands.
type State string

// States of bots.
const (
	StateOff        State = "off" // not to be connected: switched off, without token, or nothing runs
	StateConnecting State = "connecting"
	StateReady      State = "ready"
	StateResuming   State = "resuming" // the connection was lost, and is taken up again
	StateFailed     State = "failed"   // it could not connect; it tries again at NextTry
)

// Class is what a bot failed of.
type Class string

// Classes of failed connections besides those of coordination/collaborate.
const (
	ClassToken    Class = "token_refused"
	ClassIntents  Class = "intents_refused"
	ClassGateway  Class = "gateway_refused" // the socket was closed with a code that does not go away by itself
	ClassNetwork  Class = "network"
	ClassNotReady Class = "not_ready" // connected, but Discord did not begin
)

// lasts says whether what a bot fails of does not go away by itself.
func (c Class) lasts() bool { return c == ClassToken || c == ClassIntents || c == ClassGateway }

// Status is how a bot stands. Times are ms since 1970.
type Status struct {
	AccountID string
	AgentID   string
	UserID    string // "" before it has been told
	UserName  string
	State     State
	Since     int64
	Class     Class  // of StateFailed
	Text      string // likewise: what is so
	Mend      string // likewise: what to do
	NextTry   int64  // likewise

	// Missing says what the bot lacks though it is connected, with its mend; "" if nothing.
	Missing     string
	MissingMend string

	Connections int // since it was started
	Resumes     int // of them, those that went on with the session
	Fetched     int // messages that were read because it had been away
	Unread      int // channels in which it may have missed messages that it could not read, or too many
}

// Words for what a bot lacks.
const (
	missingContent     = "the intent Message Content is not granted: the bot reads only messages that mention it, and direct ones"
	missingContentMend = "switch on Message Content Intent at the Bot page of the Discord developer portal, and restart openclawd"
)

// Codes with which the gateway says that it will not have the bot.
const (
	closeAuthentication = 4004
	closeInvalidShard   = 4010
	closeSharding       = 4011
	closeVersion        = 4012
	closeInvalidIntents = 4013
	closeIntents        = 4014
)

// trouble is why a bot does not get connected.
type trouble struct {
	class Class // one that lasts is tried seldom
	text  string
	mend  string
}

// troubleOf judges what came of connecting.
func troubleOf(account string, err error) trouble {
	var refused *Error
	var closed *closeError
	switch {
	case errors.As(err, &refused) && refused.Class == collaborate.ClassUnauthorized,
		errors.As(err, &closed) && closed.code == closeAuthentication:
		return trouble{class: ClassToken, text: "Discord refuses the token of account " + account, mend: fmt.Sprintf(tokenMend, account)}
	case errors.As(err, &refused):
		return trouble{class: Class(refused.Class), text: refused.Error(), mend: refused.Mend}
	case errors.As(err, &closed):
		return troubleOfClose(account, closed)
	}
	return trouble{class: ClassNetwork, text: coordination.Mask(fmt.Sprintf("account %s: %v", account, err)),
		mend: "see that this machine reaches discord.com and gateway.discord.gg"}
}

func troubleOfClose(account string, closed *closeError) trouble {
	t := trouble{class: ClassNetwork, text: fmt.Sprintf("account %s: %v", account, closed), mend: "it is tried again"}
	switch closed.code {
	case closeIntents, closeInvalidIntents:
		t.class = ClassIntents
		t.mend = "switch on Message Content Intent at the Bot page of the Discord developer portal"
	case closeSharding, closeInvalidShard, closeVersion:
		t.class = ClassGateway
		t.mend = "the bot is in more guilds than one connection may serve, or this program is too old"
	}
	return t
}
