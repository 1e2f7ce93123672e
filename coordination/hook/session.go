package hook

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Session is where a run takes place.
type Session struct {
	Key   coordination.SessionKey
	Reset bool // the run begins with an empty transcript
}

// SessionOf decides where the run of a request takes place. agent is the one that is asked, main its main session, newID an id that is not
// in use. Only a run that keeps the transcript can take place outside of the sessions of hooks.
func SessionOf(p *Policy, a *Asked, agent string, main coordination.SessionKey, newID string) (Session, *Refusal) {
	if p.Agents != nil && !slices.ContainsFunc(p.Agents, func(id string) bool { return id == "*" || strings.EqualFold(id, agent) }) {
		return Session{}, refuse(CodeAgent, "agentId", agent, "hooks may not reach agent "+agent, "add it to hooks.allowedAgentIds, or name another agent")
	}
	keeps := a.Action == ActionWake || a.SessionMode == Persistent
	name := a.SessionKey
	switch {
	case name != "":
		if refusal := p.checkKey(a, keeps); refusal != nil {
			return Session{}, refusal
		}
	case a.Action == ActionWake:
		return Session{Key: main}, nil
	case p.DefaultSessionKey != "":
		name = p.DefaultSessionKey
	case keeps:
		return Session{}, refuse(CodeInvalid, "sessionKey", "", "a persistent session needs a key", "give sessionKey, set hooks.defaultSessionKey, or leave sessionMode out")
	default:
		name = hookFamily + newID
	}
	if !p.begins(name) {
		return Session{}, refuse(CodeSessionKey, "sessionKey", name, "the session key does not begin as hooks.allowedSessionKeyPrefixes demands",
			"let it begin with one of: "+strings.Join(p.SessionKeyPrefixes, ", "))
	}
	key, refusal := keyOf(name, agent, keeps)
	return Session{Key: key, Reset: !keeps}, refusal
}

const hookFamily = coordination.HookSessions + ":"

// checkKey refuses a key of the sender's that the policy does not allow.
func (p *Policy) checkKey(a *Asked, keeps bool) *Refusal {
	switch {
	case a.SenderKey && !p.RequestSessionKeys:
		return refuse(CodeSessionKey, "sessionKey", a.SessionKey, "requests may not choose their session", "leave sessionKey out, or set hooks.allowRequestSessionKey to true")
	case a.SenderKey && keeps && len(p.SessionKeyPrefixes) == 0:
		return refuse(CodeSessionKey, "sessionKey", a.SessionKey, "requests may not choose a session that keeps its transcript",
			"set hooks.allowedSessionKeyPrefixes, so that they cannot reach every session")
	}
	return nil
}

func (p *Policy) begins(key string) bool {
	key = strings.ToLower(key)
	return len(p.SessionKeyPrefixes) == 0 || slices.ContainsFunc(p.SessionKeyPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// keyOf returns the key with a name: hook:<id>, agent:<agent>:<session>, or a bare name. Unless the session keeps its transcript it is one
// of hooks, whatever its name.
func keyOf(name, agent string, keeps bool) (coordination.SessionKey, *Refusal) {
	malformed := func(why string) *Refusal {
		return refuse(CodeInvalid, "sessionKey", name, "malformed session key: "+why, "write hook:<name>, of letters, digits and -")
	}
	name = strings.ToLower(coordination.TrimJS(name))
	rest, full := strings.CutPrefix(name, "agent:"+agent+":")
	if strings.HasPrefix(name, "agent:") && !full {
		return coordination.SessionKey{}, refuse(CodeInvalid, "sessionKey", name, "the session is one of another agent", "name a session of agent "+agent)
	}
	id, ours := strings.CutPrefix(rest, hookFamily)
	if !ours && keeps {
		key, err := coordination.SessionKeyOf("agent:"+agent+":"+rest, agent)
		if err != nil {
			return key, malformed(err.Error())
		}
		return key, nil
	}
	key, err := coordination.ParseSessionKey("agent:" + agent + ":" + hookFamily + id)
	if err != nil {
		return key, malformed(err.Error())
	}
	if !key.IsHook() {
		return key, malformed("it is no name of a hook's session")
	}
	return key, nil
}
