package slack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Classes of failures to connect, in health.Bot.Class.
const (
	ClassToken       = "token_refused"
	ClassSocketMode  = "socket_mode_refused"
	ClassUnreachable = "unreachable"
)

// trouble is why an app is not connected.
type trouble struct {
	class, text, hint string
	wait              time.Duration // that Slack asks for
}

// lasts reports whether a failure stays until someone changes the configuration or the app.
func lasts(class string) bool { return class == ClassToken || class == ClassSocketMode }

func troubleOf(account string, err error) trouble {
	if refused, is := errors.AsType[*channel.Error](err); is {
		t := trouble{class: ClassUnreachable, text: refused.Error(), hint: refused.Hint, wait: refused.Failure.RetryAfter}
		if refused.Class == collaborate.ClassUnauthorized {
			t.class, t.text = ClassToken, fmt.Sprintf("Slack refuses the bot token of %s: %s", account, refused.Said)
		}
		return t
	}
	refused, is := errors.AsType[*openError](err)
	switch {
	case is && statuses[refused.code] == 401:
		return trouble{class: ClassToken, text: fmt.Sprintf("Slack refuses the app token of %s: %s", account, (&said{Error: refused.code}).describe()), hint: fmt.Sprintf(tokenHint, account)}
	case is && strings.Contains(refused.code, "limited"):
		return trouble{class: ClassUnreachable, text: refused.Error(), hint: "it is retried"}
	case is:
		return trouble{class: ClassSocketMode, text: fmt.Sprintf("Slack opens no socket for %s: %s", account, refused.code),
			hint: "enable Socket Mode of the app, and give its app token the scope connections:write"}
	}
	return trouble{class: ClassUnreachable, text: coordination.Mask(err.Error()), hint: "check that this machine can reach slack.com"}
}

// neededScopes are the bot token scopes without which something that agents expect fails, by what they are for.
var neededScopes = []string{"chat:write", "app_mentions:read", "channels:history", "channels:read", "groups:history", "groups:read", "im:history",
	"im:read", "mpim:history", "mpim:read", "users:read"}

// furtherScopes are needed for files, and to write to people first. That an app has no slash command, and with it no scope
// commands, is usual.
var furtherScopes = []string{"files:read", "files:write", "im:write"}

// reactionScopes are needed for acknowledgements, and to hear of people's reactions.
var reactionScopes = []string{"reactions:read", "reactions:write"}

// missingScopes are the needed scopes that a token lacks, as Slack lists its scopes; "" if none, or if it says nothing.
func missingScopes(granted string, reacts bool, further ...string) string {
	if granted == "" {
		return ""
	}
	var has []string
	for _, scope := range strings.Split(granted, ",") {
		has = append(has, strings.TrimSpace(scope))
	}
	needed := slices.Concat(neededScopes, further)
	if reacts {
		needed = append(needed, reactionScopes...)
	}
	var lacking []string
	for _, scope := range needed {
		if !slices.Contains(has, scope) {
			lacking = append(lacking, scope)
		}
	}
	return strings.Join(lacking, ", ")
}
