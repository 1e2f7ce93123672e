package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// MaxOutput bounds an answer's text, and its details, in bytes.
const MaxOutput = 256 << 10

const cutMark = "\n...(truncated)..."

// Answer returns an output with v, encoded as an object: compact JSON for models, the object itself for programs.
func Answer(v any) (tool.Output, error) {
	text, err := Encode(v)
	if err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: string(text), Details: text}, nil
}

// Refuse returns a refusal with v, which is encoded as an object and explains it.
func Refuse(v any) (tool.Output, error) {
	out, err := Answer(v)
	out.IsError = true
	return out, err
}

// Encode returns compact JSON without escaping non-ASCII or HTML characters.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

var errDetails = errors.New("the details are not a JSON object")

// bounded makes an output valid and bounds its size.
func bounded(out tool.Output) (tool.Output, error) {
	if out.Text = strings.ToValidUTF8(out.Text, "\uFFFD"); len(out.Text) > MaxOutput {
		out.Text = coordination.Clip(out.Text, MaxOutput-len(cutMark)) + cutMark
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
