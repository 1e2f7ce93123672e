package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// sessionMethods are those that read and change sessions.
func (s *Server) sessionMethods() map[string]answer {
	lists := &sessionLists{server: s, kept: newKeptLists()}
	return map[string]answer{
		"sessions.list":     lists.answer,
		"sessions.resolve":  s.resolveSession,
		"sessions.describe": s.describeSession,
		"sessions.preview":  s.previewSessions,
		"sessions.create":   s.createSession,
		"sessions.patch":    s.patchSession,
		"sessions.reset":    s.resetSession,
		"sessions.delete":   s.deleteSession,
		"sessions.compact":  s.compactSession,

		"sessions.subscribe":            lists.subscribe,
		"sessions.unsubscribe":          s.unsubscribe,
		"sessions.messages.subscribe":   s.subscribeMessages(true),
		"sessions.messages.unsubscribe": s.subscribeMessages(false),
	}
}

// paramsOf reads the parameters of a call, which have been found right. Those that T does not know are passed over.
func paramsOf[T any](call *wire.Call) (p T, err error) {
	if err = json.Unmarshal(call.Params, &p); err == nil {
		return p, nil
	}
	var plain any
	if json.Unmarshal(call.Params, &plain) == nil {
		var again T
		if text, encodeErr := json.Marshal(wholeNumbers(plain)); encodeErr == nil && json.Unmarshal(text, &again) == nil {
			return again, nil
		}
	}
	return p, invalidRequest(fmt.Sprintf("invalid %s params: %v", call.Method, err), nil)
}

// maxWhole is the largest whole number that clients count with exactly.
const maxWhole = 1 << 53

// wholeNumbers writes numbers that are whole as such, however they were written, 1e3 and 5.0 too, and huge ones as maxWhole.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(min(max(v, -maxWhole), maxWhole))
	case map[string]any:
		for name, member := range v {
			v[name] = wholeNumbers(member)
		}
	case []any:
		for i, item := range v {
			v[i] = wholeNumbers(item)
		}
	}
	return v
}

// encoded is v as JSON that leaves the letters of a text as they are.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
