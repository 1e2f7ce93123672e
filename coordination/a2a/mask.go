package a2a

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maskJSON masks secrets in JSON and keeps it valid. If masking the whole text would break it, each member is masked
// separately, together with its name.
func maskJSON(text string) string {
	masked := coordination.Mask(text)
	if masked == text || json.Valid([]byte(masked)) {
		return masked
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return masked
	}
	return written(maskValue("", value))
}

// maskValue masks a value, which has a name if it is a member.
func maskValue(name string, value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = maskValue(name, v[i])
		}
		return v
	case map[string]any:
		masked := make(map[string]any, len(v))
		for name := range v {
			masked[coordination.Mask(name)] = maskValue(name, v[name])
		}
		return masked
	case string:
		value = coordination.Mask(v)
	}
	if pair := written(name) + ":" + written(value); coordination.Mask(pair) != pair {
		return "***"
	}
	return value
}

// written is a JSON value in compact form.
func written(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return `""` // parsed values always marshal
	}
	return strings.TrimSuffix(b.String(), "\n")
}
