package coordination

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Upcasters lists, by event type, the steps that bring data of older versions into today's shape: the first makes version 2 of version
// 1. A type that is not listed is at version 1. A step that was released never changes; a golden log of its version holds it to that.
func Upcasters() map[string][]func(json.RawMessage) (json.RawMessage, error) {
	return map[string][]func(json.RawMessage) (json.RawMessage, error){
		TypeConfigApplied: {configAppliedSettings},
	}
}

// configAppliedSettings makes version 2, which keeps the configuration as a whole; version 1 kept none of it.
func configAppliedSettings(data json.RawMessage) (json.RawMessage, error) {
	return withMember(data, "settings", `{}`)
}

// withMember puts a member at the end of an object that has none of that name.
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
