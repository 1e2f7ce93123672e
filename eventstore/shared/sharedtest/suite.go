package sharedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Harness is an empty log and the ways to it.
type Harness struct {
	// Connect returns a client of its own. It is closed by the suite.
	Connect func(t testing.TB) shared.Log

	// Address is that of a server, and Through returns a client that reaches it by a proxy. Without them the suite
	// does not lose answers.
	Address string
	Through func(t testing.TB, way *Proxy) shared.Log

	// Storage are the directories in which the log's bytes are. None: redacted payloads are not searched for.
	Storage []string

	// Largest is the size of the largest record that is stored, in bytes: above every usual bound of a message.
	Largest int

	// Expire lets leases end that were not renewed for ttl. Nil: the suite waits for that.
	Expire func(ttl time.Duration)
}

// Run checks what shared.Log promises, each time on a log made by open.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	for _, aspect := range []struct {
		name  string
		check func(*testing.T, *subject)
	}{
		{"Empty", empty},
		{"Append_ReadsBack", readsBack},
		{"Append_OtherRecordIsRefused", otherRecordIsRefused},
		{"Append_GapIsRefused", gapIsRefused},
		{"Append_SameRecordIsStoredOnce", sameRecordIsStoredOnce},
		{"Append_OneOfManyWins", oneOfManyWins},
		{"Append_LargeRecords", largeRecords},
		{"Append_CancelledStoresNothing", cancelledStoresNothing},
		{"Append_LostAnswerIsFoundOut", lostAnswerIsFoundOut},
		{"Append_WithoutAnswerIsUncertain", withoutAnswerIsUncertain},
		{"Find", finds},
		{"Watch_HasNoSeam", watchHasNoSeam},
		{"Watch_Ends", watchEnds},
		{"Redact", redacts},
		{"Lease_OneHolds", oneHolds},
		{"Lease_FencesByEpoch", fencesByEpoch},
		{"Lease_EndsByItself", endsByItself},
		{"Lease_IsHandedOver", isHandedOver},
		{"Lease_IsRevoked", isRevoked},
		{"Announce", announces},
	} {
		t.Run(aspect.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			s := &subject{Harness: open(t), ctx: ctx}
			s.log = s.connect(t)
			aspect.check(t, s)
			s.verify(t)
		})
	}
}

// patience bounds every wait. Only a broken log uses it up.
const patience = 2 * time.Minute

// subject is the log under test in one subtest. After it, the whole log is verified.
type subject struct {
	Harness
	ctx context.Context
	log shared.Log
}

func (s *subject) connect(t testing.TB) shared.Log {
	t.Helper()
	log := s.Connect(t)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return log
}

// verify reads the whole log and checks that its records follow from each other.
func (s *subject) verify(t testing.TB) []shared.Record {
	t.Helper()
	records, err := s.log.Read(s.ctx, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var head shared.Head
	for i := range records {
		r := &records[i]
		if r.Number != head.Number+1 || r.First != head.Seq+1 || r.Before != head.Hash || r.Epoch < head.Epoch {
			t.Fatalf("record %d (%d to %d, epoch %d) does not follow %+v", r.Number, r.First, r.Last, r.Epoch, head)
		}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		head = r.Head()
	}
	if got, err := s.log.Head(s.ctx); err != nil || got != head {
		t.Fatalf("head %+v, the last record is %+v: %v", got, head, err)
	}
	return records
}

// Events returns n events that follow a head, with payloads of at least size bytes that begin with a mark.
func Events(head shared.Head, n, size int, mark string) []eventstore.Event {
	events := make([]eventstore.Event, n)
	hash := head.Hash
	for i := range events {
		e := &events[i]
		text, err := json.Marshal(map[string]string{"text": mark + string(bytes.Repeat([]byte("x"), size))})
		if err != nil {
			panic(err) // texts can be encoded
		}
		*e = eventstore.Event{Seq: head.Seq + int64(i) + 1, Stream: "task/" + mark, Version: int64(i) + 1, Type: "task.started", Ver: 1, AgentID: "seum",
			TS: 1_790_000_000_000, RecordedAt: 1_790_000_000_000 + head.Seq, Actor: eventstore.ActorAgent, Data: text, Salt: make([]byte, eventstore.SaltBytes)}
		e.Salt[0], e.Salt[1] = byte(i), byte(head.Seq)
		e.DataHash = eventstore.PayloadHash(e.Salt, e.Data, e.Original)
		e.ID = eventstore.DerivedID(e.TS, e.DataHash)
		e.Hash = eventstore.ChainHash(hash, e)
		hash = e.Hash
	}
	return events
}

// record is a record of n events behind a head, of a node.
func record(head shared.Head, n int, mark string) shared.Record {
	r := shared.Following(head, Events(head, n, 20, mark), nil)
	r.Epoch, r.Node = max(head.Epoch, 1), "a"
	return r
}

func (s *subject) append(t testing.TB, r shared.Record) shared.Head {
	t.Helper()
	if err := s.log.Append(s.ctx, r); err != nil {
		t.Fatalf("append record %d: %v", r.Number, err)
	}
	return r.Head()
}

// grow appends n records of two events each.
func (s *subject) grow(t testing.TB, head shared.Head, n int) shared.Head {
	t.Helper()
	for i := range n {
		head = s.append(t, record(head, 2, fmt.Sprint("grow", head.Seq, i)))
	}
	return head
}

func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var target E
	if !errors.As(err, &target) {
		t.Fatalf("error is %T (%v), want %T", err, err, target)
	}
	return target
}

func same(a, b shared.Record) bool { return a.Is(&b) && bytes.Equal(a.Body, b.Body) }

func empty(t *testing.T, s *subject) {
	if head, err := s.log.Head(s.ctx); err != nil || head != (shared.Head{}) {
		t.Errorf("head %+v, %v", head, err)
	}
	if records, err := s.log.Read(s.ctx, 0, 10); err != nil || len(records) > 0 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if _, err := s.log.Find(s.ctx, 1); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("find: %v", err)
	}
}

func readsBack(t *testing.T, s *subject) {
	var want []shared.Record
	head := shared.Head{}
	for i := range 5 {
		r := record(head, i+1, fmt.Sprint("n", i))
		if i == 3 {
			r = shared.Following(head, nil, []int64{1, 2})
		}
		head = s.append(t, r)
		want = append(want, r)
		got, err := s.log.Read(s.ctx, r.Number-1, 10)
		if err != nil || len(got) != 1 || !same(got[0], r) {
			t.Fatalf("record %d read back: %+v, %v", r.Number, got, err)
		}
	}
	other := s.connect(t)
	for _, page := range []struct{ after, limit, want int }{{0, 2, 2}, {0, 100, 5}, {3, 1, 1}, {3, 9, 2}, {5, 9, 0}} {
		got, err := other.Read(s.ctx, int64(page.after), page.limit)
		if err != nil || !slices.EqualFunc(got, want[page.after:page.after+page.want], same) {
			t.Errorf("%d records after %d: %d, %v", page.limit, page.after, len(got), err)
		}
	}
	events, blank, err := want[3].Decode()
	if err != nil || len(events) != 0 || !slices.Equal(blank, []int64{1, 2}) {
		t.Errorf("a record that only blanks: %d events, %v, %v", len(events), blank, err)
	}
}

func otherRecordIsRefused(t *testing.T, s *subject) {
	head := s.grow(t, shared.Head{}, 2)
	late := record(head, 1, "late")
	head = s.append(t, record(head, 2, "first"))
	for _, client := range []shared.Log{s.log, s.connect(t)} {
		refused := wantAs[*shared.ConflictError](t, client.Append(s.ctx, late))
		if refused.Number != 3 || refused.Head != head {
			t.Errorf("%+v, want the head %+v", refused, head)
		}
	}
	late.Number = 1
	wantAs[*shared.ConflictError](t, s.log.Append(s.ctx, late))
	if n := len(s.verify(t)); n != 3 {
		t.Errorf("%d records", n)
	}
}

func gapIsRefused(t *testing.T, s *subject) {
	head := s.grow(t, shared.Head{}, 1)
	far := record(head, 1, "far")
	far.Number++
	if refused := wantAs[*shared.ConflictError](t, s.log.Append(s.ctx, far)); refused.Head != head {
		t.Errorf("%+v, want the head %+v", refused, head)
	}
	s.grow(t, head, 1)
}

func sameRecordIsStoredOnce(t *testing.T, s *subject) {
	r := record(shared.Head{}, 2, "once")
	s.append(t, r)
	s.append(t, r)
	s.grow(t, r.Head(), 2)
	s.append(t, r)
	if err := s.connect(t).Append(s.ctx, r); err != nil {
		t.Error(err)
	}
	if n := len(s.verify(t)); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}

func oneOfManyWins(t *testing.T, s *subject) {
	const clients, places = 6, 12
	var (
		racing sync.WaitGroup
		mu     sync.Mutex
		won    = map[int64]int{}
	)
	for c := range clients {
		log := s.connect(t)
		racing.Go(func() {
			for {
				head, err := log.Head(s.ctx)
				if err == nil && head.Number >= places {
					return
				}
				r := record(head, 1, fmt.Sprint("client", c))
				if err == nil {
					err = log.Append(s.ctx, r)
				}
				switch {
				case err == nil:
					mu.Lock()
					won[r.Number]++
					mu.Unlock()
				case !errors.As(err, new(*shared.ConflictError)):
					t.Errorf("client %d: %v", c, err)
					return
				}
			}
		})
	}
	racing.Wait()
	for _, r := range s.verify(t) {
		if won[r.Number] != 1 {
			t.Errorf("%d clients were told that they wrote record %d", won[r.Number], r.Number)
		}
	}
}

// largeRecords are above every usual bound of a message.
func largeRecords(t *testing.T, s *subject) {
	var head shared.Head
	for i, size := range []int{20, 3 << 20, 20, s.Largest} {
		r := shared.Following(head, Events(head, 2, size/2, fmt.Sprint("large", i)), nil)
		other := shared.Following(head, Events(head, 2, size/2, fmt.Sprint("other", i)), nil)
		head = s.append(t, r)
		wantAs[*shared.ConflictError](t, s.log.Append(s.ctx, other))
		s.append(t, r)
		if got, err := s.log.Read(s.ctx, int64(i), 2); err != nil || len(got) != 1 || !same(got[0], r) {
			t.Fatalf("%d bytes are not read back: %d records, %v", size, len(got), err)
		}
	}
	seen := 0
	err := s.log.Watch(s.ctx, 0, func(records []shared.Record) error {
		if seen += len(records); seen == 4 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
}

var errEnough = errors.New("enough")

func cancelledStoresNothing(t *testing.T, s *subject) {
	head := s.grow(t, shared.Head{}, 1)
	over, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.log.Append(over, record(head, 1, "over")); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	s.grow(t, head, 1)
}

// stored waits until the log has a record.
func (s *subject) stored(t testing.TB, number int64) {
	t.Helper()
	err := s.log.Watch(s.ctx, number-1, func([]shared.Record) error { return errEnough })
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
}

// losing returns a client whose answers get lost on its way at will, and the one record that it has appended.
func (s *subject) losing(t *testing.T) (way *Proxy, client shared.Log, first shared.Record) {
	t.Helper()
	way = NewProxy(t, s.Address)
	client = s.Through(t, way)
	t.Cleanup(func() { _ = client.Close() })
	first = record(shared.Head{}, 2, "first")
	if err := client.Append(s.ctx, first); err != nil {
		t.Fatal(err)
	}
	return way, client, first
}

func lostAnswerIsFoundOut(t *testing.T, s *subject) {
	if s.Through == nil {
		return // without a network no answer is lost
	}
	way, client, _ := s.losing(t)
	for i := range 3 {
		head, err := client.Head(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		r := record(head, 2, fmt.Sprint("lost", i))
		way.LoseAnswers()
		answer := make(chan error, 1)
		go func() { answer <- client.Append(s.ctx, r) }()
		s.stored(t, r.Number)
		if i == 2 {
			s.append(t, record(r.Head(), 1, "behind it"))
		}
		way.Restore()
		if err := <-answer; err != nil {
			t.Fatalf("a record whose answer was lost: %v", err)
		}
	}
	if n := len(s.verify(t)); n != 5 {
		t.Errorf("%d records, want 5", n)
	}
}

func withoutAnswerIsUncertain(t *testing.T, s *subject) {
	if s.Through == nil {
		return // without a network no answer is lost
	}
	way, client, first := s.losing(t)
	r := record(first.Head(), 2, "unknown")
	way.LoseAnswers()
	brief, cancel := context.WithCancel(s.ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- client.Append(brief, r) }()
	s.stored(t, r.Number)
	cancel()
	if told := wantAs[*shared.UncertainError](t, <-answer); told.Number != r.Number {
		t.Errorf("%+v", told)
	}
	way.Restore()
	wantAs[*shared.ConflictError](t, client.Append(s.ctx, record(first.Head(), 1, "instead")))
	if err := client.Append(s.ctx, r); err != nil {
		t.Errorf("the same record later: %v", err)
	}
}

func finds(t *testing.T, s *subject) {
	opened, err := s.log.Acquire(s.ctx, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s.grow(t, opened.Head, 12) // record n has the events 2n-3 and 2n-2
	for seq := int64(1); seq <= 24; seq++ {
		if n, err := s.log.Find(s.ctx, seq); err != nil || n != (seq+1)/2+1 {
			t.Errorf("event %d is in record %d, want %d: %v", seq, n, (seq+1)/2+1, err)
		}
	}
	if n, err := s.log.Find(s.ctx, 0); err != nil || n != 1 {
		t.Errorf("the first record is %d, %v", n, err)
	}
	if _, err := s.log.Find(s.ctx, 25); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("find an event that is not there: %v", err)
	}
}

func watchHasNoSeam(t *testing.T, s *subject) {
	const total = 60
	head := s.grow(t, shared.Head{}, total/3)
	var watching sync.WaitGroup
	for _, after := range []int64{0, 7, total / 3, total - 1} {
		log := s.connect(t)
		watching.Go(func() {
			next := after + 1
			err := log.Watch(s.ctx, after, func(records []shared.Record) error {
				for i := range records {
					if records[i].Number != next {
						return fmt.Errorf("record %d came, want %d", records[i].Number, next)
					}
					if err := records[i].Check(); err != nil {
						return err
					}
					next++
				}
				if next > total {
					return errEnough
				}
				return nil
			})
			if !errors.Is(err, errEnough) {
				t.Errorf("watch after %d ended at %d: %v", after, next, err)
			}
		})
	}
	s.grow(t, head, total-total/3)
	watching.Wait()
}

func watchEnds(t *testing.T, s *subject) {
	s.grow(t, shared.Head{}, 1)
	ctx, cancel := context.WithCancel(s.ctx)
	err := s.log.Watch(ctx, 0, func([]shared.Record) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("watch ended with %v", err)
	}
}

func redacts(t *testing.T, s *subject) {
	const gone, kept = "PAYLOADTHATGOES", "PAYLOADTHATSTAYS"
	head := s.grow(t, shared.Head{}, 2)
	events := Events(head, 3, 30, kept)
	copy(events[1:], Events(shared.Head{Seq: events[0].Seq, Hash: events[0].Hash}, 1, 30, gone))
	copy(events[2:], Events(shared.Head{Seq: events[1].Seq, Hash: events[1].Hash}, 1, 30, kept))
	head = s.append(t, shared.Following(head, events, nil)) // 5, 6, 7
	large := shared.Following(head, Events(head, 1, 3<<20, gone), nil)
	head = s.append(t, large) // 8
	head = s.append(t, shared.Following(head, nil, []int64{6, 8}))
	for range 2 {
		if err := s.log.Redact(s.ctx, []int64{6, 8}); err != nil {
			t.Fatal(err)
		}
	}
	s.wantRedacted(t, 6, 8)
	head = s.append(t, shared.Following(head, nil, []int64{5}))
	if err := s.log.Redact(s.ctx, []int64{5, 99}); err != nil {
		t.Fatal(err)
	}
	s.wantRedacted(t, 5, 6, 8)
	if err := s.log.Append(s.ctx, large); err != nil {
		t.Errorf("a redacted record again: %v", err)
	}
	s.grow(t, head, 1)
	if n, err := s.log.Find(s.ctx, 8); err != nil || n != 4 {
		t.Errorf("event 8 is in record %d, %v", n, err)
	}
	for _, dir := range s.Storage {
		SearchBytes(t, dir, gone+"xxx")
	}
}

// wantRedacted checks which events have no payload, for a client that reads and one that watches.
func (s *subject) wantRedacted(t testing.TB, want ...int64) {
	t.Helper()
	head, err := s.log.Head(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var watched []shared.Record
	err = s.connect(t).Watch(s.ctx, 0, func(records []shared.Record) error {
		if watched = append(watched, records...); int64(len(watched)) == head.Number {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("watched %d records: %v", len(watched), err)
	}
	for _, records := range [][]shared.Record{s.verify(t), watched} {
		var blank []int64
		for i := range records {
			events, _, err := records[i].Decode()
			if err != nil {
				t.Fatal(err)
			}
			for j := range events {
				if events[j].Redacted() {
					blank = append(blank, events[j].Seq)
				}
			}
		}
		if !slices.Equal(blank, want) {
			t.Fatalf("events %v have no payload, want %v", blank, want)
		}
	}
}

// SearchBytes fails t for each file below a directory that contains a text.
func SearchBytes(t testing.TB, dir, text string) {
	t.Helper()
	for _, path := range Containing(t, dir, text) {
		t.Errorf("%s still contains a payload that was redacted", path)
	}
}

// Containing returns the files below a directory that contain a text.
func Containing(t testing.TB, dir, text string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server removed it meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(content, []byte(text)) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func oneHolds(t *testing.T, s *subject) {
	other := s.connect(t)
	held, err := s.log.Acquire(s.ctx, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if held.Epoch != 1 || held.Head.Number != 1 || held.Node != "a" {
		t.Errorf("lease %+v", held)
	}
	if refused := wantAs[*shared.HeldError](t, errorOf(other.Acquire(s.ctx, "b", time.Minute))); refused.Node != "a" {
		t.Errorf("held by %q", refused.Node)
	}
	if err := s.log.Renew(s.ctx, held, time.Minute); err != nil {
		t.Errorf("renew: %v", err)
	}
	again, err := s.connect(t).Acquire(s.ctx, "a", time.Minute)
	if err != nil || again.Epoch != 2 {
		t.Fatalf("its holder again: %+v, %v", again, err)
	}
	wantAs[*shared.HeldError](t, s.log.Renew(s.ctx, held, time.Minute))
	if err := s.log.Release(s.ctx, held); err != nil {
		t.Errorf("release what is not held any more: %v", err)
	}
	wantAs[*shared.HeldError](t, errorOf(other.Acquire(s.ctx, "b", time.Minute)))
	if err := s.log.Release(s.ctx, again); err != nil {
		t.Fatal(err)
	}
	if next, err := other.Acquire(s.ctx, "b", time.Minute); err != nil || next.Epoch != 3 || next.Node != "b" {
		t.Errorf("after the release: %+v, %v", next, err)
	}
}

func errorOf(_ shared.Lease, err error) error { return err }

func fencesByEpoch(t *testing.T, s *subject) {
	first, err := s.log.Acquire(s.ctx, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	before := s.append(t, shared.Following(first.Head, Events(first.Head, 1, 20, "first"), nil))
	late := shared.Following(before, Events(before, 1, 20, "late"), nil)
	if err := s.log.Release(s.ctx, first); err != nil {
		t.Fatal(err)
	}
	other := s.connect(t)
	second, err := other.Acquire(s.ctx, "b", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if second.Head.Seq != before.Seq || second.Head.Hash != before.Hash || second.Epoch != 2 {
		t.Errorf("lease %+v, want it behind %+v", second, before)
	}
	refused := wantAs[*shared.ConflictError](t, s.log.Append(s.ctx, late))
	if refused.Head.Epoch != 2 || refused.Head.Node != "b" {
		t.Errorf("refused by %+v", refused.Head)
	}
	if err := other.Append(s.ctx, shared.Following(second.Head, Events(second.Head, 1, 20, "second"), nil)); err != nil {
		t.Fatal(err)
	}
	wantAs[*shared.ConflictError](t, s.log.Append(s.ctx, late))
}

func isHandedOver(t *testing.T, s *subject) {
	held, err := s.log.Acquire(s.ctx, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	other := s.connect(t)
	for range 2 { // the second changes nothing
		if err := s.log.HandOver(s.ctx, held, "b", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	wantAs[*shared.HeldError](t, s.log.Renew(s.ctx, held, time.Minute))
	wantAs[*shared.HeldError](t, errorOf(other.Acquire(s.ctx, "c", time.Minute)))
	next, err := other.Acquire(s.ctx, "b", time.Minute)
	if err != nil || next.Epoch != held.Epoch+1 {
		t.Fatalf("the node that got the lease: %+v, %v", next, err)
	}
	if err := s.log.HandOver(s.ctx, held, "c", time.Minute); err != nil {
		t.Errorf("hand over what another holds: %v", err)
	}
	if err := other.Renew(s.ctx, next, time.Minute); err != nil {
		t.Errorf("renew: %v", err)
	}
}

func isRevoked(t *testing.T, s *subject) {
	held, err := s.log.Acquire(s.ctx, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	other := s.connect(t)
	if err := other.Revoke(s.ctx, "c"); err != nil {
		t.Errorf("revoke what another holds: %v", err)
	}
	if err := s.log.Renew(s.ctx, held, time.Minute); err != nil {
		t.Errorf("renew: %v", err)
	}
	for range 2 {
		if err := other.Revoke(s.ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	wantAs[*shared.HeldError](t, s.log.Renew(s.ctx, held, time.Minute))
	if next, err := other.Acquire(s.ctx, "b", time.Minute); err != nil || next.Epoch != 2 {
		t.Errorf("after it was revoked: %+v, %v", next, err)
	}
}

func announces(t *testing.T, s *subject) {
	other := s.connect(t)
	if said, err := other.Announced(s.ctx); err != nil || len(said) > 0 {
		t.Errorf("before anything was said: %v, %v", said, err)
	}
	const ttl = time.Second
	for _, one := range []struct {
		node, text string
		ttl        time.Duration
	}{{"a", "first", time.Minute}, {"마디.1", "brief", ttl}, {"a", "second", time.Minute}} {
		if err := s.log.Announce(s.ctx, one.node, []byte(one.text), one.ttl); err != nil {
			t.Fatal(err)
		}
	}
	if s.Expire != nil {
		s.Expire(ttl)
	}
	for {
		said, err := other.Announced(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if string(said["a"]) != "second" {
			t.Fatalf("%q was said", said)
		}
		if len(said) == 1 {
			break
		}
		if string(said["마디.1"]) != "brief" || len(said) > 2 {
			t.Fatalf("%q was said", said)
		}
	}
	if _, err := s.log.Acquire(s.ctx, "a", time.Minute); err != nil {
		t.Errorf("what nodes say is no lease: %v", err)
	}
}

func endsByItself(t *testing.T, s *subject) {
	const ttl = time.Second
	held, err := s.log.Acquire(s.ctx, "a", ttl)
	if err != nil {
		t.Fatal(err)
	}
	other := s.connect(t)
	wantAs[*shared.HeldError](t, errorOf(other.Acquire(s.ctx, "b", ttl)))
	if s.Expire != nil {
		s.Expire(ttl)
	}
	for {
		lease, err := other.Acquire(s.ctx, "b", time.Minute)
		if err == nil {
			if lease.Epoch != held.Epoch+1 {
				t.Errorf("epoch %d follows %d", lease.Epoch, held.Epoch)
			}
			break
		}
		wantAs[*shared.HeldError](t, err)
		if s.ctx.Err() != nil {
			t.Fatal("a lease that is not renewed does not end")
		}
	}
	wantAs[*shared.HeldError](t, s.log.Renew(s.ctx, held, time.Minute))
	if err := s.log.Release(s.ctx, held); err != nil {
		t.Error(err)
	}
	wantAs[*shared.HeldError](t, errorOf(s.log.Acquire(s.ctx, "a", ttl)))
}
