package tools

import (
	"encoding/json"
	"strings"
)

// Object is the schema of an object that has these properties and no others, each written as a member with its name. required names those that
// have to be there, with blanks between them.
func Object(required string, properties ...string) json.RawMessage {
	text := `{"type":"object","additionalProperties":false`
	if names := strings.Fields(required); len(names) > 0 {
		text += `,"required":["` + strings.Join(names, `","`) + `"]`
	}
	return json.RawMessage(text + `,"properties":{` + strings.Join(properties, ",") + "}}")
}
