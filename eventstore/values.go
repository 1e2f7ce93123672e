package eventstore

// Values implements Row for what drivers of databases return: each is an int64, a float64, a string, a []byte or nil.
type Values[V any] []V

// Int implements Row.
func (v Values[V]) Int(i int) int64 {
	switch v := any(v[i]).(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// Float implements Row.
func (v Values[V]) Float(i int) float64 {
	switch v := any(v[i]).(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

// Text implements Row.
func (v Values[V]) Text(i int) string {
	switch v := any(v[i]).(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// Blob implements Row.
func (v Values[V]) Blob(i int) []byte {
	switch v := any(v[i]).(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// Null implements Row.
func (v Values[V]) Null(i int) bool { return any(v[i]) == nil }
