package push

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// frame is a message as it goes over the wire, encoded once for all who get it.
type frame struct {
	wire wire
	size int   // bytes of its text
	seq  int64 // whoever has it has been told the log up to here; 0: it moves nobody's place
	more bool  // the next one is of the same page
}

// envelope is a message but for its data.
type envelope struct {
	Type      string `json:"type"`
	AgentID   string `json:"agentId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	Timestamp string `json:"timestamp"`
}

// isoTime is how ECMAScript writes a moment in UTC.
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

// encode writes a message as one JSON text.
func encode(m Message, now time.Time) ([]byte, error) {
	text, err := marshal(envelope{m.Type, m.AgentID, m.TaskID, now.UTC().Format(isoTime)})
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
	// A client hangs up on text that is not UTF-8, and would do so again whenever it came back.
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
