package sqlite_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// watchedLog notes the largest page that is read of it.
type watchedLog struct {
	*sqlite.DB
	most int
}

func (l *watchedLog) note(events []eventstore.Event, err error) ([]eventstore.Event, error) {
	bytes := 0
	for _, e := range events {
		bytes += len(e.Data)
	}
	l.most = max(l.most, bytes)
	return events, err
}

func (l *watchedLog) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	return l.note(l.DB.Read(ctx, after, limit))
}

func (l *watchedLog) ReadWithin(ctx context.Context, after int64, limit int, most int64) ([]eventstore.Event, error) {
	return l.note(l.DB.ReadWithin(ctx, after, limit, most))
}

// A page is bounded by bytes too, and an export of large events holds a few of them at a time.
func TestPagesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	const size, many = 4 << 20, 14
	text := strings.Repeat("x", size)
	for i := range many {
		_, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: "x", Events: []eventstore.NewEvent{{Type: "a.b", Data: fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, text)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		most int64
		want int
	}{{1, 1}, {size, 1}, {2*size + 100, 3}, {1 << 40, many}} {
		if got, err := db.ReadWithin(t.Context(), 0, 100, c.most); err != nil || len(got) != c.want {
			t.Errorf("within %d bytes: %d events, %v, want %d", c.most, len(got), err, c.want)
		}
	}
	log := &watchedLog{DB: db}
	events, err := ndjson.Export(t.Context(), log, io.Discard, ndjson.ExportOptions{})
	if err != nil || events != many {
		t.Errorf("%d events were exported, %v, want %d", events, err, many)
	}
	if log.most > 40<<20 {
		t.Errorf("%d bytes were held at a time", log.most)
	}
}
