package compare

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"strconv"
)

// Shown converts a value of a column for people and JSON. Numbers and texts are unchanged, blobs are hexadecimal with
// a leading x, NULL is nil. Numbers that JSON cannot represent become texts.
func Shown(value any) any {
	switch v := value.(type) {
	case []byte:
		return "x" + hex.EncodeToString(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return value
}

// Same reports whether two values of a column have the same type and value.
func Same(a, b any) bool {
	switch x := a.(type) {
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	default:
		if _, blob := b.([]byte); blob {
			return false
		}
		return a == b
	}
}

// order compares as SQLite does: NULL, numbers by value, texts and blobs bytewise.
func order(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return orderMixed(x, b.(float64))
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
		return -orderMixed(b.(int64), x)
	case string:
		return cmp.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	}
	return 0
}

// orderMixed compares an integer with a real without losing digits.
func orderMixed(i int64, f float64) int {
	switch {
	case f >= math.MaxInt64: // it is not a float64: rounded up it exceeds every int64
		return -1
	case f < math.MinInt64:
		return 1
	}
	whole := int64(f)
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(0, f-float64(whole))
}

func rank(value any) int {
	switch value.(type) {
	case nil:
		return 0
	case int64, float64:
		return 1
	case string:
		return 2
	}
	return 3
}
