package hook

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Mapping says what becomes of requests to a path. Texts but AgentID and Channel are templates.
type Mapping struct {
	ID     string
	Path   string // below hooks.path; "" is any
	Source string // of the payload's member source; "" is any

	Action      string
	Text        string // what the agent is told
	Name        string
	AgentID     string // "" is the default agent
	SessionKey  string
	SessionMode string

	Deliver        bool
	Channel        string
	To             string
	Model          string
	Thinking       string
	TimeoutSeconds int64 // 0 is the agent's own
}

// Mapped returns what the first mapping that fits a request makes of it. found is false if none fits.
func Mapped(mappings []Mapping, in *Input) (a *Asked, found bool, refusal *Refusal) {
	for i := range mappings {
		m := &mappings[i]
		if m.Path != "" && m.Path != in.Path {
			continue
		}
		if source, _ := in.Payload["source"].(string); m.Source != "" && m.Source != source {
			continue
		}
		a, refusal = m.apply(in)
		return a, true, refusal
	}
	return nil, false, nil
}

func (m *Mapping) apply(in *Input) (*Asked, *Refusal) {
	a := &Asked{Action: m.Action, AgentID: m.AgentID, SenderKey: isTemplate(m.SessionKey), SessionMode: m.SessionMode, Deliver: m.Deliver, Channel: m.Channel,
		TimeoutSeconds: m.TimeoutSeconds}
	r := reader{payload: in.Payload}
	a.IdempotencyKey = r.text("idempotencyKey")
	for _, t := range [...]struct {
		field, template string
		into            *string
	}{{"messageTemplate", m.Text, &a.Text}, {"name", cmp.Or(m.Name, m.ID), &a.Name}, {"sessionKey", m.SessionKey, &a.SessionKey}, {"to", m.To, &a.To},
		{"model", m.Model, &a.Model}, {"thinking", m.Thinking, &a.Thinking}} {
		text, ok := in.render(t.template)
		if !ok {
			return a, refuse(CodeInvalid, t.field, m.ID, fmt.Sprintf("%s of mapping %s becomes longer than %d bytes", t.field, m.ID, maxRendered), "use less of the payload in it")
		}
		*t.into = coordination.TrimJS(text)
	}
	switch {
	case r.refusal != nil:
		return a, r.refusal
	case a.Text == "":
		return a, refuse(CodeNoText, "messageTemplate", m.ID, "the message of mapping "+m.ID+" is blank for this request", "send what its template names")
	case m.SessionKey != "" && a.SessionKey == "":
		return a, refuse(CodeInvalid, "sessionKey", m.SessionKey, "the session key of mapping "+m.ID+" is blank for this request", "send what its template names")
	case m.Action == ActionWake:
		a.Deliver = false
	}
	return a, a.checkPlace()
}

// PathOf is a path in the form in which mappings and requests are compared.
func PathOf(path string) string { return strings.Trim(coordination.TrimJS(path), "/") }
