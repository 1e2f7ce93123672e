package discord

import (
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Classes of failed connections in addition to those of coordination/collaborate.
const (
	ClassToken   = "token_refused"
	ClassIntents = "intents_refused"
	ClassGateway = "gateway_refused" // the socket was closed with a permanent error code
	ClassNetwork = "network"
)

// lasts reports whether a failure of a class is permanent.
func lasts(class string) bool {
	return class == ClassToken || class == ClassIntents || class == ClassGateway
}

// Texts for what a bot lacks.
const (
	missingContent     = "the Message Content intent is not granted: the bot can read only direct messages and messages that mention it"
	missingContentHint = "enable Message Content Intent on the Bot page of the Discord developer portal, and restart openclawd"
)

// Permanent close codes of the gateway.
const (
	closeAuthentication = 4004
	closeInvalidShard   = 4010
	closeSharding       = 4011
	closeVersion        = 4012
	closeInvalidIntents = 4013
	closeIntents        = 4014
)

type trouble struct {
	class string // a permanent one is retried rarely
	text  string
	hint  string
}

// troubleOf classifies the result of connecting.
func troubleOf(account string, err error) trouble {
	var refused *channel.Error
	var closed *closeError
	switch {
	case errors.As(err, &refused) && refused.Class == collaborate.ClassUnauthorized,
		errors.As(err, &closed) && closed.code == closeAuthentication:
		return trouble{class: ClassToken, text: "Discord rejects the token of account " + account, hint: fmt.Sprintf(tokenHint, account)}
	case errors.As(err, &refused):
		return trouble{class: string(refused.Class), text: refused.Error(), hint: refused.Hint}
	case errors.As(err, &closed):
		return troubleOfClose(account, closed)
	}
	return trouble{class: ClassNetwork, text: coordination.Mask(fmt.Sprintf("account %s: %v", account, err)),
		hint: "check that this machine can reach discord.com and gateway.discord.gg"}
}

func troubleOfClose(account string, closed *closeError) trouble {
	t := trouble{class: ClassNetwork, text: fmt.Sprintf("account %s: %v", account, closed), hint: "it is retried"}
	switch closed.code {
	case closeIntents, closeInvalidIntents:
		t.class = ClassIntents
		t.hint = "enable Message Content Intent on the Bot page of the Discord developer portal"
	case closeSharding, closeInvalidShard, closeVersion:
		t.class = ClassGateway
		t.hint = "the bot is in more guilds than one connection may serve, or this program is outdated"
	}
	return t
}
