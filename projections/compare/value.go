package compare

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"strconv"
)

// Shown is a value of a column for people and JSON. Numbers and texts are as they are, blobs are in hexadecimal with x in front, NULL is
// nil. What JSON has no number for is a text.
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

// Same reports whether two values of a column are of one type and equal.
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

// order is that of SQLite: NULL, numbers by value, texts and blobs byte by byte.
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

// orderMixed loses no digit of either.
func orderMixed(i int64, f float64) int {
	switch {
	case f >= math.MaxInt64: // which is no float64: what it is rounded up to is larger than every int64
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
