package coordination

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Upcasters lists, by event type, the functions that convert data of older versions: the first makes version 2 of version 1. Unlisted
// types are at version 1. A released function never changes; a golden log of its version verifies that.
func Upcasters() map[string][]func(json.RawMessage) (json.RawMessage, error) {
	return map[string][]func(json.RawMessage) (json.RawMessage, error){
		TypeConfigApplied: {configAppliedSettings},
	}
}

// configAppliedSettings makes version 2, which adds the whole configuration; version 1 had none of it.
func configAppliedSettings(data json.RawMessage) (json.RawMessage, error) {
	return withMember(data, "settings", `{}`)
}

// withMember appends a member to an object without one of that name.
func withMember(object json.RawMessage, key, value string) (json.RawMessage, error) {
	members, there := 0, false
	err := EachField(object, func(name string, _ []byte) bool {
		members++
		there = there || name == key
		return true
	})
	if err != nil || there {
		return object, err
	}
	end := bytes.LastIndexByte(object, '}')
	lifted := append(make([]byte, 0, len(object)+len(key)+len(value)+4), object[:end]...)
	if members > 0 {
		lifted = append(lifted, ',')
	}
	return fmt.Appendf(lifted, `"%s":%s}`, key, value), nil
}
