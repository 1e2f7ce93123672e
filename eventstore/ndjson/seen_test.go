package ndjson

import (
	"math/rand/v2"
	"os"
	"testing"
)

// How often a text was seen is the same from files as from memory, and memory holds few of them.
func TestSeenTextsAreCountedExactly(t *testing.T) {
	t.Parallel()
	s := newSeenTexts()
	s.most = 100
	defer func() { _ = s.close() }()
	r := rand.New(rand.NewPCG(5, 5))
	want := map[uint64]uint32{}
	var keys []uint64
	for range 20_000 {
		key := r.Uint64()
		if len(keys) > 0 && r.IntN(3) == 0 {
			key = keys[r.IntN(len(keys))]
		} else {
			keys = append(keys, key)
		}
		n, met, err := s.find(key)
		if before, known := want[key]; err != nil || n != before || met != known {
			t.Fatalf("%d %v, want %d %v: %v", n, met, before, known, err)
		}
		want[key]++
		s.set(key, n+1)
	}
	for key, n := range want {
		if got, met, err := s.find(key); got != n || !met || err != nil {
			t.Fatalf("%d %v, want %d: %v", got, met, n, err)
		}
	}
	if n, met, err := s.find(12345); n != 0 || met || err != nil {
		t.Errorf("a text that was not seen: %d %v %v", n, met, err)
	}
	if len(s.fresh) > s.most || len(s.runs) > 12 {
		t.Errorf("%d texts in memory, %d runs", len(s.fresh), len(s.runs))
	}
}

// Without a place for files all texts are counted in memory.
func TestSeenTextsStayInMemoryWithoutFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	s := newSeenTexts()
	s.most = 10
	for key := range uint64(100) {
		s.set(key, 1)
	}
	for key := range uint64(100) {
		if n, met, err := s.find(key); n != 1 || !met || err != nil {
			t.Fatalf("%d: %d %v %v", key, n, met, err)
		}
	}
	if _, err := os.Stat(os.TempDir()); err == nil {
		t.Error("there is a place")
	}
}
