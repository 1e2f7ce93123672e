package client

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// frame is any frame of a gateway. Unknown members are ignored.
type frame struct {
	Type         string                 `json:"type"`
	ID           string                 `json:"id"`
	OK           bool                   `json:"ok"`
	Payload      json.RawMessage        `json:"payload"`
	Error        *protocol.Error        `json:"error"`
	Event        string                 `json:"event"`
	Seq          *int64                 `json:"seq"`
	StateVersion *protocol.StateVersion `json:"stateVersion"`
}

// accepted reports whether another answer follows.
func (f *frame) accepted() bool {
	if !f.OK || !bytes.Contains(f.Payload, []byte(`"accepted"`)) {
		return false
	}
	var p struct {
		Status string `json:"status"`
	}
	return json.Unmarshal(f.Payload, &p) == nil && p.Status == "accepted"
}

func (f *frame) failure() error {
	if f.OK {
		return nil
	}
	return f.reason()
}

func (f *frame) reason() *protocol.Error {
	if f.Error == nil {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "the gateway gave no reason"}
	}
	return f.Error
}

func request(id, method string, params any) ([]byte, error) {
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Method string `json:"method"`
		Params any    `json:"params,omitempty"`
	}{"req", id, method, params})
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	return text, nil
}
