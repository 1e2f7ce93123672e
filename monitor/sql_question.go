package monitor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// Limits of the values of a question.
const (
	maxSQLParams     = 100
	maxSQLParamBytes = 64 << 10 // of all texts
)

// readQuestion reads the body of POST /api/sql: {sql, limit, params}.
func readQuestion(c echo.Context) (q SQLQuestion, err error) {
	members, err := readMembers[json.RawMessage](c)
	if err != nil {
		return q, err
	}
	if members == nil {
		return q, invalidBody("send one JSON object")
	}
	if err := json.Unmarshal(members["sql"], &q.Statement); err != nil || strings.TrimSpace(q.Statement) == "" {
		return q, &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "Missing sql", Field: "sql", Hint: "send one statement as a string"}
	}
	q.Limit = DefaultSQLRows
	if given, there := members["limit"]; there {
		var n float64
		if err := json.Unmarshal(given, &n); err != nil || n != float64(int(n)) || n < 1 || n > MaxSQLRows {
			return q, invalidMember("limit", fmt.Sprintf("give a whole number from 1 to %d", MaxSQLRows))
		}
		q.Limit = int(n)
	}
	return q, readParams(&q, members["params"])
}

// readParams reads the values of a question: an array, an object, or nothing.
func readParams(q *SQLQuestion, text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // integers keep all digits
	var given any
	if err := decoder.Decode(&given); err != nil {
		return invalidMember("params", "give values as an array or an object")
	}
	var err error
	size := &paramSize{}
	switch given := given.(type) {
	case nil:
	case []any:
		q.List = make([]any, len(given))
		for i, value := range given {
			if q.List[i], err = size.value(strconv.Itoa(i+1), value); err != nil {
				return err
			}
		}
	case map[string]any:
		q.Named = make(map[string]any, len(given))
		for name, value := range given {
			if q.Named[name], err = size.value(name, value); err != nil {
				return err
			}
		}
	default:
		return invalidMember("params", "give values as an array or an object")
	}
	return nil
}

// paramSize counts values and the bytes of their texts.
type paramSize struct{ values, bytes int }

// value converts a value for SQL. name says which it is.
func (s *paramSize) value(name string, given any) (any, error) {
	if s.values++; s.values > maxSQLParams {
		return nil, invalidMember("params", fmt.Sprintf("give at most %d values", maxSQLParams))
	}
	switch v := given.(type) {
	case nil:
		return nil, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case string:
		if s.bytes += len(v); s.bytes > maxSQLParamBytes {
			return nil, invalidMember("params", fmt.Sprintf("the texts may have at most %d bytes in total", maxSQLParamBytes))
		}
		return v, nil
	case json.Number:
		return number(name, v)
	}
	return nil, invalidMember("params", fmt.Sprintf("value %.60q: give a number, a text, true, false or null", name))
}

func number(name string, n json.Number) (any, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		whole, err := n.Int64()
		if err != nil {
			return nil, invalidMember("params", fmt.Sprintf("value %.60q: an integer has at most 64 bits", name))
		}
		return whole, nil
	}
	real, err := n.Float64()
	if err != nil {
		return nil, invalidMember("params", fmt.Sprintf("value %.60q: the number is out of range", name))
	}
	return real, nil
}

func invalidMember(field, hint string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: "Invalid " + field, Field: field, Hint: hint}
}
