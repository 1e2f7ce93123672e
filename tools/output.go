package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

// MaxOutput is how many bytes an answer's text, and its details, have at most.
const MaxOutput = 256 << 10

// cutMark stands where the rest of a text was left out.
const cutMark = "\n...(truncated)..."

// Answer is an output that says v, which is encoded as an object: as compact JSON to models, as the same object to programs.
func Answer(v any) (tool.Output, error) {
	text, err := Encode(v)
	if err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: string(text), Details: text}, nil
}

// Refuse is an output that says v, which is encoded as an object and says why the tool does not do it.
func Refuse(v any) (tool.Output, error) {
	out, err := Answer(v)
	out.IsError = true
	return out, err
}

// Encode is a value as compact JSON. Texts stay as they are, whatever their script.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

var errDetails = errors.New("the details are no JSON object")

// bounded is an output as callers get it: valid, and of bounded size.
func bounded(out tool.Output) (tool.Output, error) {
	if out.Text = strings.ToValidUTF8(out.Text, "\uFFFD"); len(out.Text) > MaxOutput {
		out.Text = runesWithin(out.Text, MaxOutput-len(cutMark)) + cutMark
	}
	switch details := bytes.TrimSpace(out.Details); {
	case len(details) == 0:
		out.Details = nil
	case len(details) > MaxOutput:
		omitted, err := Encode(map[string]any{"truncated": true, "bytes": len(details)})
		if err != nil {
			return out, err
		}
		out.Details = omitted
	case details[0] != '{' || !json.Valid(details):
		return out, errDetails
	default:
		out.Details = details
	}
	return out, nil
}

// runesWithin is the beginning of a text, at most that many bytes, with no character parted.
func runesWithin(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
