package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

func (s *Server) sessionMethods() map[string]answer {
	s.lists = &sessionLists{server: s, kept: newListCache(), maxPage: maxPage, maxBytes: maxListBytes}
	return map[string]answer{
		"sessions.list":     s.lists.answer,
		"sessions.resolve":  s.resolveSession,
		"sessions.describe": s.describeSession,
		"sessions.preview":  s.previewSessions,
		"sessions.create":   s.createSession,
		"sessions.patch":    s.patchSession,
		"sessions.reset":    s.resetSession,
		"sessions.delete":   s.deleteSession,
		"sessions.compact":  s.compactSession,

		"sessions.subscribe":            s.lists.subscribe,
		"sessions.unsubscribe":          s.unsubscribe,
		"sessions.messages.subscribe":   s.subscribeMessages(true),
		"sessions.messages.unsubscribe": s.subscribeMessages(false),
	}
}

// paramsOf decodes the validated parameters of a call. Members unknown to T are ignored.
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

// maxWhole is the largest integer that clients represent exactly.
const maxWhole = 1 << 53

// wholeNumbers rewrites whole numbers without exponent or fraction (1e3, 5.0), and huge ones as maxWhole.
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

// encoded is v as JSON without HTML escaping.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
