package push

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

type frame struct {
	wire wire
	size int   // bytes of its text
	seq  int64 // seq its receiver has reached; 0: does not change the position
	more bool  // more frames of the same page follow
}

type envelope struct {
	Type      string `json:"type"`
	AgentID   string `json:"agentId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	Timestamp string `json:"timestamp"`
	Seq       *int64 `json:"seq,omitempty"` // of a tick
}

// isoTime is ECMAScript's UTC time format.
const isoTime = "2006-01-02T15:04:05.000Z"

func newFrame(m Message, now time.Time) (*frame, error) {
	text, err := encode(m, now)
	if err != nil {
		return nil, err
	}
	w, err := newWire(text)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Type, err)
	}
	return &frame{wire: w, size: len(text)}, nil
}

func encode(m Message, now time.Time) ([]byte, error) {
	text, err := marshal(envelope{m.Type, m.AgentID, m.TaskID, now.UTC().Format(isoTime), m.seq})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Type, err)
	}
	if m.Data != nil {
		data, raw := m.Data.(json.RawMessage)
		if !raw {
			if data, err = marshal(m.Data); err != nil {
				return nil, fmt.Errorf("encode data of %s: %w", m.Type, err)
			}
		}
		text = append(text[:len(text)-1], `,"data":`...)
		text = append(append(text, data...), '}')
	}
	// A client closes the connection on invalid UTF-8, and would do so again after each reconnect.
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, nil
}

func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
