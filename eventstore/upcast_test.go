package eventstore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func TestUpcastersLiftDataStepByStep(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	step := func(n int) func(json.RawMessage) (json.RawMessage, error) {
		return func(data json.RawMessage) (json.RawMessage, error) {
			if bytes.Contains(data, []byte("odd")) {
				return nil, odd
			}
			return fmt.Appendf(nil, `{"was":%s,"step":%d}`, data, n), nil
		}
	}
	u := eventstore.Upcasters{"a": {step(1), step(2)}}
	for name, c := range map[string]struct {
		e    eventstore.Event
		ver  int
		data string
		err  bool
	}{
		"oldest":       {eventstore.Event{Type: "a", Ver: 1, Data: json.RawMessage(`{}`)}, 3, `{"was":{"was":{},"step":1},"step":2}`, false},
		"in between":   {eventstore.Event{Type: "a", Ver: 2, Data: json.RawMessage(`{}`)}, 3, `{"was":{},"step":2}`, false},
		"newest":       {eventstore.Event{Type: "a", Ver: 3, Data: json.RawMessage(`{}`)}, 3, `{}`, false},
		"newer":        {eventstore.Event{Type: "a", Ver: 4, Data: json.RawMessage(`{}`)}, 4, `{}`, true},
		"another type": {eventstore.Event{Type: "b", Ver: 1, Data: json.RawMessage(`{}`)}, 1, `{}`, false},
		"imported":     {eventstore.Event{Type: "a", Ver: 1, Actor: eventstore.ActorImport, Data: json.RawMessage(`{}`)}, 1, `{}`, false},
		"redacted":     {eventstore.Event{Type: "a", Ver: 1}, 1, ``, false},
		"failing step": {eventstore.Event{Type: "a", Ver: 2, Data: json.RawMessage(`{"odd":1}`)}, 2, `{"odd":1}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.e
			got, err := u.Lift(&c.e)
			if got.Ver != c.ver || string(got.Data) != c.data || (err != nil) != c.err {
				t.Errorf("version %d, data %s, %v", got.Ver, got.Data, err)
			}
			if before.Ver != c.e.Ver || string(before.Data) != string(c.e.Data) {
				t.Errorf("the stored event was changed: %+v", c.e)
			}
			if version, ok := errors.AsType[*eventstore.VersionError](err); ok != (name == "newer") || ok && (version.Ver != 4 || version.Known != 3) {
				t.Errorf("error %v", err)
			}
		})
	}
	if u.Version("a") != 3 || u.Version("b") != 1 {
		t.Errorf("versions %d, %d", u.Version("a"), u.Version("b"))
	}
}
