package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// sessionRequest is the session a request addresses, and whether the request is a repetition.
type sessionRequest struct {
	key   coordination.SessionKey
	runID string
	once  bool // the client sent an idempotency key
}

// whom finds the session of a request: the named one, else its user's, else a new one. family is the prefix of the
// names of the latter two.
func (s *Server) whom(r *http.Request, model, user, family string) (a sessionRequest, bad *failure) {
	named, param := header(r, "X-Openclaw-Agent-Id"), ""
	if named == "" {
		named, param = agentIn(model), "model"
	}
	agent, err := s.opts.Agent(named)
	if err != nil {
		return a, invalid(err.Error(), param, "unknown_agent")
	}
	key, bad := idempotencyKey(r)
	if bad != nil {
		return a, bad
	}
	a.runID, a.once = key, key != ""
	if !a.once {
		a.runID = family + "_" + s.opts.NewID()
	}
	if session := coordination.TrimJS(r.Header.Get("X-Openclaw-Session-Key")); session != "" {
		a.key, err = s.opts.Session(strings.ToLower(named), session)
		param = ""
	} else {
		a.key, err = s.opts.Session(agent, "agent:"+agent+":"+sessionName(family, user, a.runID))
		param = "user"
	}
	if err != nil {
		return a, invalid(err.Error(), param, "invalid_session_key")
	}
	return a, nil
}

// agentIn returns the agent a model name stands for, "" for none or the default.
func agentIn(model string) string {
	if strings.EqualFold(coordination.TrimJS(model), defaultModel) {
		return ""
	}
	for _, prefix := range [...]string{"openclaw:", "openclaw/", "agent:"} {
		if len(model) > len(prefix) && strings.EqualFold(model[:len(prefix)], prefix) {
			return coordination.TrimJS(model[len(prefix):])
		}
	}
	return ""
}

// Prefixes of the names of sessions created here, and of ids.
const (
	familyChat      = "chatcmpl"
	familyResponses = "resp"
)

// sessionName is the name of a user's session, or of a session for one run. A repeated request gets the same name.
func sessionName(family, user, runID string) string {
	begin := map[string]string{familyChat: "openai", familyResponses: "openresponses"}[family]
	if user == "" {
		return begin + ":" + digest(runID)
	}
	if len(user) > 64 || strings.ContainsFunc(user, isOdd) {
		user = "sha256-" + digest(user)
	}
	return begin + "-user:" + user
}

// isOdd reports whether a character of a user's name could have a meaning in a key or collide with another in lower
// case.
func isOdd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._@-", r)
}

// digest is a fixed-size name for any text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// idempotencyKey identifies a repeated request, "" if the client sent none.
func idempotencyKey(r *http.Request) (string, *failure) {
	for _, name := range [...]string{"Idempotency-Key", "X-Request-Id"} {
		key := coordination.TrimJS(r.Header.Get(name))
		if len(key) > maxHeader {
			return "", invalid(name+" is too long: at most 256 bytes are taken", "", "invalid_idempotency_key")
		}
		if key != "" {
			return key, nil
		}
	}
	return "", nil
}
