package channel

// Fault is something that an account lacks in its service, as the service says.
type Fault struct {
	Code    string // one of those below
	Setting string // of the account: token, appToken; "" is the account itself
	Text    string
	Hint    string
}

// Codes of a Fault.
const (
	FaultToken       = "token_refused"
	FaultRight       = "right_missing"       // the bot works, with less
	FaultWebhook     = "webhook_elsewhere"   // another address receives what the bot should
	FaultUnreachable = "service_unreachable" // nothing is known
)
