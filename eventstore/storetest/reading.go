package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func readPages(t *testing.T, s *subject) {
	for i := range 7 {
		s.append(t, to(fmt.Sprintf("task/%d", i%2), eventWithID(byte(i)+1, fmt.Sprintf(`{"i":%d}`, i))))
	}
	log := s.all(t)
	stream := slices.DeleteFunc(slices.Clone(log), func(e eventstore.Event) bool { return e.Stream != "task/0" })
	for _, page := range []struct {
		after       int64
		limit       int
		all, stream []eventstore.Event
	}{
		{0, 3, log[:3], stream[:3]},
		{0, 100, log, stream},
		{-5, 2, log[:2], stream[:2]},
		{2, 2, log[2:4], stream[2:4]},
		{3, 1, log[3:4], stream[3:4]},
		{3, 100, log[3:], stream[3:]},
		{7, 1, nil, nil},
		{100, 1, nil, nil},
		{0, 0, nil, nil},
		{0, -1, nil, nil},
	} {
		t.Run(fmt.Sprintf("after %d, limit %d", page.after, page.limit), func(t *testing.T) {
			got, err := s.Log.Read(s.ctx, page.after, page.limit)
			if err != nil {
				t.Fatalf("Read: %v", err)
			}
			wantEqual(t, "Read", got, page.all)
			got, err = s.Log.ReadStream(s.ctx, "task/0", page.after, page.limit)
			if err != nil {
				t.Fatalf("ReadStream: %v", err)
			}
			wantEqual(t, "ReadStream", got, page.stream)
		})
	}
	for _, want := range log {
		wantEqual(t, "Event", s.event(t, want.Seq), want)
		got, err := s.Log.EventByID(s.ctx, want.ID)
		if err != nil {
			t.Fatalf("EventByID: %v", err)
		}
		wantEqual(t, "EventByID", got, want)
	}
	s.wantVersion(t, "task/0", 4)
	s.wantVersion(t, "task/1", 3)
}

func readWhatIsNotThere(t *testing.T, s *subject) {
	absent := func(t *testing.T) {
		t.Helper()
		for _, seq := range []int64{-1, 0, 2} {
			_, err := s.Log.Event(s.ctx, seq)
			wantIs(t, err, eventstore.ErrNotFound)
		}
		for _, id := range []eventstore.ID{{}, fixedID(9)} {
			_, err := s.Log.EventByID(s.ctx, id)
			wantIs(t, err, eventstore.ErrNotFound)
		}
		events, err := s.Log.ReadStream(s.ctx, "task/none", 0, 10)
		if err != nil || len(events) != 0 {
			t.Fatalf("ReadStream of an unknown stream = %d events, %v", len(events), err)
		}
		s.wantVersion(t, "task/none", 0)
	}

	wantEqual(t, "head of the empty log", s.head(t), eventstore.Head{})
	wantEqual(t, "the empty log", s.all(t), nil)
	absent(t)
	s.append(t, to("task/a", event(`{}`)))
	absent(t)
}
