package projections

import "encoding/json"

// NoneJSON is the JSON of an empty list.
const NoneJSON = "[]"

// JSONList encodes a list for a column, or as one SQL argument for json_each; an empty one is [], never null. The items are texts and
// numbers, or structures of them.
func JSONList[E any](items []E) string {
	if len(items) == 0 {
		return NoneJSON
	}
	text, _ := json.Marshal(items) // these always marshal
	return string(text)
}

// ListOf decodes what JSONList has encoded.
func ListOf[E any](text string) (items []E) {
	if text != NoneJSON {
		_ = json.Unmarshal([]byte(text), &items)
	}
	return items
}
