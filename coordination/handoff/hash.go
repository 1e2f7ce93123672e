package handoff

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// hash is equal for equivalent payloads, regardless of the order of members, white space, and the notation of strings and numbers.
func hash(f fields) string {
	sum := sha256.Sum256(canonical(nil, map[string]any(f)))
	return hex.EncodeToString(sum[:])
}

// canonical appends the canonical form of a JSON value: equal exactly for equal values.
func canonical(to []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return strconv.AppendQuote(to, v)
	case bool:
		return strconv.AppendBool(to, v)
	case json.Number:
		return append(to, decimalOf(v).String()...)
	case []any:
		to = append(to, '[')
		for _, one := range v {
			to = append(canonical(to, one), ',')
		}
		return append(to, ']')
	case map[string]any:
		to = append(to, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			to = append(strconv.AppendQuote(to, name), ':')
			to = append(canonical(to, v[name]), ',')
		}
		return append(to, '}')
	}
	return append(to, "null"...)
}
