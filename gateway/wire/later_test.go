package wire_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// A request whose answer comes later does not count as under way: the client may ask for more than it may have under way, and is answered
// all the same, each request once.
func TestAnswersThatComeLater(t *testing.T) {
	t.Parallel()
	const many = 3 * wire.DefaultMaxInFlight
	type later struct {
		id     string
		answer func(any, error)
	}
	waiting := make(chan later, many)
	g := serve(t, setup{methods: book{"x.echo": echo, "x.later": func(_ context.Context, call *wire.Call) (any, error) {
		call.Interim(json.RawMessage(`"soon"`))
		waiting <- later{call.ID, call.Later()}
		return json.RawMessage(`"never told"`), nil
	}}})
	c := g.enter(t)
	for range many {
		c.text(`{"type":"req","id":"later","method":"x.later"}`)
		if got := string(c.answer("later").Payload); got != `"soon"` {
			t.Fatal(got)
		}
	}
	c.text(`{"type":"req","id":"a","method":"x.echo","params":{"k":1}}`)
	if got := string(c.answer("a").Payload); got != `{"k":1}` {
		t.Error(got)
	}
	for range many {
		one := <-waiting
		one.answer(json.RawMessage(`"done"`), nil)
		if got := string(c.answer(one.id).Payload); got != `"done"` {
			t.Fatal(got)
		}
	}
}
