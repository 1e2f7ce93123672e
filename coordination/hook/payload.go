package hook

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Payload is the body of a request: a JSON object, with numbers as json.Number.
type Payload map[string]any

// Wake reads a request to wake an agent.
func Wake(p Payload) (*Asked, *Refusal) {
	r := reader{payload: p}
	a := &Asked{Action: ActionWake, Text: r.required("text"), AgentID: r.text("agentId"), SessionKey: r.text("sessionKey"), Name: "wake",
		IdempotencyKey: r.text("idempotencyKey")}
	a.SenderKey = a.SessionKey != ""
	r.oneOf("mode", "now", "next-heartbeat")
	return a, r.refusal
}

// Agent reads a request for a run.
func Agent(p Payload) (*Asked, *Refusal) {
	r := reader{payload: p}
	a := &Asked{Action: ActionAgent, Text: r.required("message"), Name: r.text("name"), AgentID: r.text("agentId"), SessionKey: r.text("sessionKey"),
		SessionMode: r.oneOf("sessionMode", Isolated, Persistent), Deliver: r.flag("deliver", true), Channel: r.text("channel"), To: r.text("to"),
		AccountID: r.text("accountId"), Model: r.text("model"), Thinking: r.text("thinking"), TimeoutSeconds: r.seconds("timeoutSeconds"),
		IdempotencyKey: r.text("idempotencyKey")}
	a.SenderKey = a.SessionKey != ""
	r.oneOf("wakeMode", "now", "next-heartbeat")
	if r.refusal != nil {
		return a, r.refusal
	}
	return a, a.checkPlace()
}

// checkPlace checks where the answer is to be posted.
func (a *Asked) checkPlace() *Refusal {
	if !a.Deliver {
		a.Channel, a.To, a.AccountID = "", "", ""
		return nil
	}
	if a.Channel == "" {
		a.Channel = ChannelLast
	}
	a.Channel = strings.ToLower(a.Channel)
	if a.Channel == ChannelLast {
		return nil
	}
	if _, known := coordination.ChannelNamed(a.Channel); !known {
		return refuse(CodeInvalid, "channel", a.Channel, "unknown channel", "use last, or a channel such as discord, telegram or slack")
	}
	if a.To == "" {
		return refuse(CodeInvalid, "to", "", "it is not said where in "+a.Channel+" the answer is posted", "give to, such as channel:<id>, or deliver: false")
	}
	return nil
}

// reader reads the members of a payload. It keeps the first refusal.
type reader struct {
	payload Payload
	refusal *Refusal
}

func (r *reader) refuse(field string, value any, text, hint string) {
	if r.refusal == nil {
		r.refusal = refuse(CodeInvalid, field, shown(value), text, hint)
	}
}

// text reads a text without blanks around it; "" if there is none.
func (r *reader) text(field string) string {
	switch v := r.payload[field].(type) {
	case nil:
		return ""
	case string:
		return coordination.TrimJS(v)
	default:
		r.refuse(field, v, field+" must be a text", "put it in quotes")
		return ""
	}
}

func (r *reader) required(field string) string {
	text := r.text(field)
	if text == "" {
		r.refuse(field, r.payload[field], field+" required", "give a text that is not blank")
	}
	return text
}

func (r *reader) oneOf(field, usual, other string) string {
	switch v := r.text(field); v {
	case "", usual:
		return usual
	case other:
		return other
	default:
		r.refuse(field, v, "unknown "+field, "use "+usual+" or "+other)
		return usual
	}
}

func (r *reader) flag(field string, otherwise bool) bool {
	switch v := r.payload[field].(type) {
	case nil:
		return otherwise
	case bool:
		return v
	default:
		r.refuse(field, v, field+" must be true or false", "write it without quotes")
		return otherwise
	}
}

// maxSeconds is a year.
const maxSeconds = 366 * 24 * 60 * 60

// seconds reads a positive number; 0 if there is none.
func (r *reader) seconds(field string) int64 {
	v := r.payload[field]
	if v == nil {
		return 0
	}
	n, is := v.(json.Number)
	f, err := n.Float64()
	if !is || err != nil || !(f >= 1 && f <= maxSeconds) {
		r.refuse(field, v, field+" must be a number of seconds", "give a number from 1 to a year, or leave it out")
		return 0
	}
	return int64(math.Floor(f))
}
