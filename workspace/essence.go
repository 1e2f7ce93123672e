package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// passingMembers are the members of the team's state that only say when something was written.
var passingMembers = []string{"lastHeartbeatMs", "lastUpdatedMs", "updatedAt"}

// essenceOf is a digest of a JSON object without its passing members, at any depth; "" if it is not an object.
func essenceOf(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if decoder.Decode(&object) != nil || object == nil || decoder.More() {
		return ""
	}
	dropPassing(object)
	rest, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(rest)
	return hex.EncodeToString(sum[:])
}

func dropPassing(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range passingMembers {
			delete(value, name)
		}
		for _, member := range value {
			dropPassing(member)
		}
	case []any:
		for _, element := range value {
			dropPassing(element)
		}
	}
}
