package handoff

import (
	"embed"
	"encoding/json"
)

//go:embed schema/*.json
var schemas embed.FS

// Schema is the JSON Schema of payloads of a type; nil for a type that there is not. It takes what Parse takes, but does not bound the size.
func Schema(t Type) json.RawMessage {
	if _, known := rulesOf(t); !known {
		return nil
	}
	schema, err := schemas.ReadFile("schema/" + string(t) + ".json")
	if err != nil {
		panic(err) // it is embedded
	}
	return schema
}
