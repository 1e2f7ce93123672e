package handoff

import (
	"embed"
	"encoding/json"
)

//go:embed schema/*.json
var schemas embed.FS

// Schema is the JSON Schema of payloads of a type, nil for an unknown type. It accepts what Parse accepts, except that it does not limit
// the size.
func Schema(t Type) json.RawMessage {
	if _, known := rulesOf(t); !known {
		return nil
	}
	schema, err := schemas.ReadFile("schema/" + string(t) + ".json")
	if err != nil {
		panic(err) // embedded
	}
	return schema
}
