package shared_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
)

// sample is a record of events with all that an event can have, one of which has lost its payload.
func sample() ([]eventstore.Event, shared.Record) {
	head := shared.Head{Number: 6, Seq: 41, Hash: eventstore.Hash{1, 2}, Epoch: 3, Node: "마디"}
	events := sharedtest.Events(head, 4, 40, "말")
	hash := head.Hash
	for i := range events {
		e := &events[i]
		e.AgentID, e.CorrelationID, e.CausationID, e.TS = "", "c\"1", "x", int64(-i)
		if i == 1 {
			e.Original = json.RawMessage(`{ "type": "x" }`)
		}
		e.DataHash = eventstore.PayloadHash(e.Salt, e.Data, e.Original)
		e.Hash = eventstore.ChainHash(hash, e)
		hash = e.Hash
	}
	events[2].Data, events[2].Original, events[2].Salt = nil, nil, nil
	return events, shared.Following(head, events, []int64{1, 300})
}

func TestRecordsKeepEveryByte(t *testing.T) {
	t.Parallel()
	events, r := sample()
	got, blank, err := r.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(events, got); diff != "" || !slices.Equal(blank, []int64{1, 300}) {
		t.Errorf("blank %v, events (-want +got):\n%s", blank, diff)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if want := (shared.Head{Number: 7, Seq: 45, Hash: events[3].Hash, Epoch: 3, Node: "마디"}); r.Head() != want {
		t.Errorf("head %+v, want %+v", r.Head(), want)
	}
	if o := shared.Opening(r.Head(), "b"); o.Number != 8 || o.First != 46 || o.Last != 45 || o.Epoch != 4 || o.Before != o.After {
		t.Errorf("opening %+v", o)
	}
}

func TestRecordsWithoutPayloads(t *testing.T) {
	t.Parallel()
	_, r := sample()
	if _, changed, err := r.Without([]int64{7, 44, 46}); changed || err != nil { // 44 has none
		t.Errorf("changed %t, %v", changed, err)
	}
	w, changed, err := r.Without([]int64{43, 44})
	if !changed || err != nil || !w.Is(&r) {
		t.Fatalf("changed %t, the same commit %t, %v", changed, w.Is(&r), err)
	}
	if err := w.Check(); err != nil {
		t.Errorf("the chain without payloads: %v", err)
	}
	events, _, err := w.Decode()
	if err != nil || !events[1].Redacted() || events[1].Original != nil || events[1].Salt != nil || events[0].Redacted() {
		t.Errorf("%+v, %v", events[1], err)
	}
}

func TestUnsoundRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(*shared.Record){
		"payload":      func(r *shared.Record) { r.Body[len(r.Body)-3]++ },
		"hash before":  func(r *shared.Record) { r.Before[0]++ },
		"hash after":   func(r *shared.Record) { r.After[0]++ },
		"seqs":         func(r *shared.Record) { r.First, r.Last = r.First+1, r.Last+1 },
		"event more":   func(r *shared.Record) { r.Last++ },
		"other layout": func(r *shared.Record) { r.Body[0]++ },
		"no body":      func(r *shared.Record) { r.Body = nil },
		"byte more":    func(r *shared.Record) { r.Body = append(r.Body, 0) },
	} {
		_, r := sample()
		alter(&r)
		if err := r.Check(); !errors.As(err, new(*shared.UnsoundError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, r := sample()
	for n := range r.Body {
		short := r
		short.Body = r.Body[:n]
		if _, _, err := short.Decode(); !errors.As(err, new(*shared.UnsoundError)) {
			t.Fatalf("%d bytes of %d: %v", n, len(r.Body), err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	_, r := sample()
	f.Add(r.Body, int64(4))
	f.Add([]byte{1, 0, 0}, int64(0))
	f.Fuzz(func(t *testing.T, body []byte, events int64) {
		r := shared.Record{Number: 1, First: 1, Last: events, Body: body}
		found, blank, err := r.Decode()
		if err != nil {
			return
		}
		again := shared.Record{Number: 1, First: 1, Last: events, Body: shared.Encode(found, blank)}
		if other, _, err := again.Decode(); err != nil || !cmp.Equal(other, found) {
			t.Errorf("written again: %v\n%s", err, cmp.Diff(found, other))
		}
	})
}
