package wire

import (
	"slices"
	"testing"
)

func TestQueueTakesWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	opts := &Options{QueueFrames: 4, QueueBytes: 100, AnswerBytes: 1_000, MaxInFlight: 2, RequestBytes: 10, AskedBytes: 1_000}
	var l load
	q := newQueue(opts, &l)
	put := func(k kind, size int) verdict {
		v, _ := q.put(frame{k, make([]byte, size)})
		return v
	}
	for n, c := range []struct {
		kind kind
		size int
		want verdict
	}{
		{event, 5_000, taken}, // nothing waits, so there is room
		{chance, 1, skipped},
		{ping, 0, skipped},
		{event, 1, refused},
		{answer, 5_000, taken}, // it has room of its own
		{answer, 1, refused},
	} {
		if got := put(c.kind, c.size); got != c.want {
			t.Errorf("%d: %v instead of %v", n, got, c.want)
		}
	}
	batch, _ := q.take(nil)
	if len(batch) != 2 || l.bytes.Load() != 10_000 {
		t.Errorf("%d frames, %d bytes", len(batch), l.bytes.Load())
	}
	if batch, end := q.take(batch); batch != nil || end != nil || l.bytes.Load() != 0 {
		t.Errorf("%v %v %d", batch, end, l.bytes.Load())
	}
	got := []verdict{put(chance, 10), put(chance, 10), put(chance, 10), put(event, 80), put(event, 1), put(event, 1)}
	if want := []verdict{taken, taken, skipped, taken, refused, refused}; !slices.Equal(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
	if first, _ := q.finish(closeFrame{code: 1}, false); !first || l.bytes.Load() != 0 || put(event, 1) != late {
		t.Errorf("a queue that has ended holds %d bytes", l.bytes.Load())
	}
	if first, _ := q.finish(closeFrame{code: 2}, true); first {
		t.Error("there are two farewells")
	}
	if _, end := q.take(nil); end == nil || end.code != 1 {
		t.Errorf("%+v", end)
	}
	if l.mostBytes.Load() != 10_000 || l.mostFrames.Load() != 3 {
		t.Errorf("%d bytes, %d frames", l.mostBytes.Load(), l.mostFrames.Load())
	}
}

func TestQueueHasOneWriterWhileSomethingWaits(t *testing.T) {
	t.Parallel()
	q := newQueue(&Options{QueueFrames: 4, QueueBytes: 100}, &load{})
	for range 3 {
		if _, write := q.put(frame{kind: event}); !write {
			t.Fatal("no write started")
		}
		if _, write := q.put(frame{kind: event}); write {
			t.Fatal("two write")
		}
		batch, _ := q.take(nil)
		if _, write := q.put(frame{kind: event}); write {
			t.Fatal("two write")
		}
		batch, _ = q.take(batch)
		if len(batch) != 1 {
			t.Fatalf("%d frames", len(batch))
		}
		if batch, _ = q.take(batch); batch != nil {
			t.Fatal("something is left")
		}
	}
}

// A queue retires when the requests that run have been answered, and begins no more of them.
func TestQueueRetires(t *testing.T) {
	t.Parallel()
	q := newQueue(&Options{QueueFrames: 4, QueueBytes: 100, AnswerBytes: 100, MaxInFlight: 1, RequestBytes: 10, AskedBytes: 100}, &load{})
	if !q.begin(5) {
		t.Fatal("nothing may begin")
	}
	waited := make(chan bool)
	go func() { waited <- q.begin(5) }()
	if q.retire(closeFrame{code: 1}) {
		t.Error("it has not waited")
	}
	if <-waited {
		t.Error("another request has started")
	}
	if v, _ := q.put(frame{kind: answer}); v != taken {
		t.Errorf("the answer: %v", v)
	}
	if batch, end := q.take(nil); len(batch) != 1 || end != nil {
		t.Errorf("%v %v", batch, end)
	}
	if q.take(nil); !q.done(5) {
		t.Error("no close frame was sent")
	}
	if _, end := q.take(nil); end == nil || end.code != 1 {
		t.Errorf("%+v", end)
	}
}

// When all clients together have too much in flight, each has one request at a time, and none waits for another.
func TestQueuesShareOneBudget(t *testing.T) {
	t.Parallel()
	opts := &Options{QueueBytes: 1_000, AnswerBytes: 1_000, MaxInFlight: 9, RequestBytes: 1_000, AskedBytes: 100}
	var l load
	greedy, modest := newQueue(opts, &l), newQueue(opts, &l)
	answers := func(q *queue, size int) verdict {
		v, _ := q.put(frame{answer, make([]byte, size)})
		return v
	}
	if v := answers(greedy, 150); v != taken || !modest.begin(10) {
		t.Fatalf("%v, or a first request has to wait", v)
	}
	if !modest.isBusy(1) || !greedy.isBusy(1) {
		t.Error("more than one may run")
	}
	if modest.done(10); modest.isBusy(1) {
		t.Error("the next one has to wait for another client")
	}
	if got := []verdict{answers(greedy, 51), answers(modest, 60), answers(modest, 1)}; !slices.Equal(got, []verdict{refused, taken, refused}) {
		t.Errorf("%v", got)
	}
	greedy.close(nil)
	if modest.isBusy(1) || l.asked.Load() != 60 {
		t.Errorf("%d bytes are left", l.asked.Load())
	}
	if modest.close(nil); l.asked.Load() != 0 {
		t.Errorf("%d bytes are left", l.asked.Load())
	}
}

// Tokens of devices go on when something else changes, and die with the secret.
func TestDoorKeepsItsTokens(t *testing.T) {
	t.Parallel()
	first := newActiveAccess(Access{Mode: ModeToken, Token: "one"}, nil)
	if newActiveAccess(Access{Mode: ModeToken, Token: "one", Hosts: []string{"x"}}, first).tokens != first.tokens {
		t.Error("the key is derived again")
	}
	for _, a := range []Access{{Mode: ModeToken, Token: "two"}, {Mode: ModePassword, Token: "one"}, {Mode: ModeNone, Token: "one"}} {
		if newActiveAccess(a, first).tokens == first.tokens {
			t.Errorf("%s: tokens of another secret", a.Mode)
		}
	}
}
