package jetstream

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// headerOf has what a record is without its body, so that a message says what it is a part of.
const headerOf = "Openclawd-Record"

const headerForm = "1 %d %d %d %d %d/%d %s %s %s" // in hexadecimal; before the node is an @, so that it is not empty

// part is one message of a record.
type part struct {
	shared.Record // without its body
	n, of         int
}

// split returns the messages of a record, whose data have at most limit bytes.
func split(r *shared.Record, subject string, limit int) []*nats.Msg {
	of := max((len(r.Body)+limit-1)/limit, 1)
	messages := make([]*nats.Msg, of)
	for i := range messages {
		m := nats.NewMsg(subject)
		m.Header.Set(headerOf, fmt.Sprintf(headerForm, r.Number, r.First, r.Last, r.Epoch, i+1, of, hex.EncodeToString(r.Before[:]),
			hex.EncodeToString(r.After[:]), hex.EncodeToString([]byte("@"+r.Node))))
		m.Data = r.Body[i*limit : min((i+1)*limit, len(r.Body))]
		messages[i] = m
	}
	return messages
}

// parse reads what a message is a part of.
func parse(h nats.Header) (part, error) {
	var p part
	var before, after, node string
	text := h.Get(headerOf)
	if _, err := fmt.Sscanf(text, headerForm, &p.Number, &p.First, &p.Last, &p.Epoch, &p.n, &p.of, &before, &after, &node); err != nil {
		return part{}, &shared.UnsoundError{Number: p.Number, Detail: fmt.Sprintf("a message of the stream has the header %q: %v", text, err)}
	}
	name, err := hex.DecodeString(node)
	if err != nil || p.Before.UnmarshalText([]byte(before)) != nil || p.After.UnmarshalText([]byte(after)) != nil || p.n < 1 || p.n > p.of {
		return part{}, &shared.UnsoundError{Number: p.Number, Detail: fmt.Sprintf("a message of the stream has the header %q", text)}
	}
	p.Node = strings.TrimPrefix(string(name), "@")
	return p, nil
}
