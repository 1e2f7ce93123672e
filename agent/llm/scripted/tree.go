package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bounds of a script.
const (
	maxBytes = 1 << 20
	maxDepth = 32
)

// node is a JSON value with its position.
type node struct {
	offset  int
	value   any // json.Delim for an object or a list, else what encoding/json gives
	members []member
	items   []*node
}

type member struct {
	key    string
	offset int
	value  *node
}

// scanner parses a text into nodes.
type scanner struct {
	text []byte
	dec  *json.Decoder
}

// syntaxError reports where a text is not valid JSON, or exceeds a bound.
type syntaxError struct {
	offset  int
	message string
	hint    string
}

func parse(text []byte) (*node, *syntaxError) {
	if len(text) > maxBytes {
		return nil, &syntaxError{0, fmt.Sprintf("the script has more than %d bytes", maxBytes), "shorten it"}
	}
	if !utf8.Valid(text) {
		return nil, &syntaxError{0, "the script is not UTF-8 text", "save it as UTF-8"}
	}
	if err := json.Unmarshal(append(bytes.Clone(text), '\n'), new(json.RawMessage)); err != nil {
		return nil, failure(text, err)
	}
	s := &scanner{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	s.dec.UseNumber()
	return s.value(0)
}

// failure reports where a text is not JSON. It was parsed with a newline appended, so an error there means that it
// was cut off.
func failure(text []byte, err error) *syntaxError {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || int(syntax.Offset) > len(text) {
		return &syntaxError{len(text), "unexpected end of the script", "close open brackets and quotes; if the file was cut off, restore it"}
	}
	return &syntaxError{max(int(syntax.Offset)-1, 0), "not JSON: " + err.Error(), "write plain JSON, without comments, with quotes around keys"}
}

// token reads a token and returns where it begins.
func (s *scanner) token() (int, json.Token, error) {
	at := int(s.dec.InputOffset())
	for at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n,:"), s.text[at]) >= 0 {
		at++
	}
	t, err := s.dec.Token()
	return at, t, err
}

func (s *scanner) value(depth int) (*node, *syntaxError) {
	at, t, err := s.token()
	if err != nil {
		return nil, failure(s.text, err)
	}
	n := &node{offset: at, value: t}
	open, ok := t.(json.Delim)
	if !ok {
		return n, nil
	}
	if depth == maxDepth {
		return nil, &syntaxError{at, fmt.Sprintf("brackets are nested more than %d deep", maxDepth), "remove some levels"}
	}
	for s.dec.More() {
		if open == '[' {
			item, err := s.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
			continue
		}
		at, key, err := s.token()
		if err != nil {
			return nil, failure(s.text, err)
		}
		v, failed := s.value(depth + 1)
		if failed != nil {
			return nil, failed
		}
		n.members = append(n.members, member{key.(string), at, v})
	}
	if _, _, err := s.token(); err != nil {
		return nil, failure(s.text, err)
	}
	return n, nil
}

func (n *node) isObject() bool { return n.value == json.Delim('{') }
func (n *node) isList() bool   { return n.value == json.Delim('[') }

// kind names what a value is, for messages.
func (n *node) kind() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	}
	if n.isList() {
		return "a list"
	}
	return "an object"
}
