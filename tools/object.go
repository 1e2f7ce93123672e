package tools

import (
	"encoding/json"
	"strings"
)

// Object returns the schema of an object with exactly these properties, each written as a member with its name. required names the
// required ones, separated by blanks.
func Object(required string, properties ...string) json.RawMessage {
	text := `{"type":"object","additionalProperties":false`
	if names := strings.Fields(required); len(names) > 0 {
		text += `,"required":["` + strings.Join(names, `","`) + `"]`
	}
	return json.RawMessage(text + `,"properties":{` + strings.Join(properties, ",") + "}}")
}
