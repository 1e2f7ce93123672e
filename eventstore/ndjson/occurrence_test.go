package ndjson_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// However many equal lines are stored, one that comes after the base is a new event, and one that is stored after the base is itself.
func TestResume(t *testing.T) {
	t.Parallel()
	const equal = `{"type":"x","agentId":"a","ts":5,"data":{}}` + "\n"
	for before := range 40 {
		log := newLog()
		mustImport(t, ndjson.New(options(log)), "first\n"+strings.Repeat(equal, before), "live")
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for after, want := range []int64{0, 1, 1, 1} { // each time one more, and the ones of before again
			store := &counting{Model: log}
			o := options(log)
			o.Log = store
			im := ndjson.New(o)
			im.Resume(head.Seq)
			if report := mustImport(t, im, strings.Repeat(equal, after), "live"); report.New != want || report.Duplicates != int64(after)-want {
				t.Fatalf("%d before, %d after: %+v", before, after, report)
			}
			if store.lookups > 14 {
				t.Errorf("%d lookups among %d", store.lookups, before)
			}
		}
	}
}

// counting counts how often an event is looked up by its id.
type counting struct {
	*storetest.Model
	lookups int
}

func (c *counting) EventByID(ctx context.Context, id eventstore.ID) (eventstore.Event, error) {
	c.lookups++
	return c.Model.EventByID(ctx, id)
}
