package hook

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Input is a request as templates see it.
type Input struct {
	Path    string // below hooks.path, such as github
	Payload Payload
	Header  func(name string) string
	Query   func(name string) string
	Now     string
}

// isTemplate reports whether a text depends on the request.
func isTemplate(text string) bool {
	_, rest, opens := strings.Cut(text, "{{")
	return opens && strings.Contains(rest, "}}")
}

// maxRendered bounds what a template becomes, in bytes. The message of a run has at most as many.
const maxRendered = 1 << 20

// render fills in a template: {{payload.a.b}} or {{a.b}}, {{list[0].name}}, {{headers.x}}, {{query.x}}, {{path}} and {{now}}. What the
// request does not have is blank. Texts that are filled in are not templates themselves. ok is false if the text gets too long.
func (in *Input) render(template string) (text string, ok bool) {
	var b strings.Builder
	for {
		before, rest, opens := strings.Cut(template, "{{")
		expression, after, closes := strings.Cut(rest, "}}")
		if !opens || !closes {
			b.WriteString(template)
			break
		}
		b.WriteString(before)
		b.WriteString(in.value(strings.TrimSpace(expression)))
		if b.Len() > maxRendered {
			return "", false
		}
		template = after
	}
	return b.String(), b.Len() <= maxRendered
}

func (in *Input) value(expression string) string {
	switch expression {
	case "path":
		return in.Path
	case "now":
		return in.Now
	}
	if name, is := strings.CutPrefix(expression, "headers."); is {
		if isCredential(name) {
			return ""
		}
		return in.Header(name)
	}
	if name, is := strings.CutPrefix(expression, "query."); is {
		return in.Query(name)
	}
	return shown(at(map[string]any(in.Payload), strings.TrimPrefix(expression, "payload.")))
}

// isCredential reports whether a header of a request may hold a secret, which agents do not see.
func isCredential(header string) bool {
	switch strings.ToLower(header) {
	case "authorization", "proxy-authorization", "cookie", "x-openclaw-token":
		return true
	}
	return false
}

// at returns the value at a path such as a.b[0].c; nil if there is none.
func at(value any, path string) any {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// shown is a JSON value as text: a text as it is, nothing for null, and lists and objects as JSON.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
