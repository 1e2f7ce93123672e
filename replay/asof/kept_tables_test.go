//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package asof_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/replay/asof"
)

func TestSnapshotsFromKeptStatesAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	for name, keeping := range map[string]asof.Keeping{
		"many":      {Every: 3},
		"some":      {Every: 10},
		"two":       {Every: 4, States: 2},
		"too large": {Every: 5, MaxBytes: func() int64 { return 1 }},
		"none":      {Every: 5, MaxBytes: func() int64 { return 0 }},
	} {
		random := rand.New(rand.NewPCG(21, uint64(len(name))))
		if keeping.MaxBytes == nil {
			keeping.MaxBytes = func() int64 { return enough }
		}
		var before []string
		for round := range 2 {
			k := keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) { o.Keeping = keeping })
			k.wantAnywhere(t, random, testscale.Of(3, 12*testscale.Times), log.stops)
			upTo := head / keeping.Every * keeping.Every
			if keeping.MaxBytes() < enough {
				upTo = 0
			}
			k.await(t, upTo)
			k.wantAnywhere(t, random, testscale.Of(3, 12*testscale.Times), log.stops)
			s := k.Status()
			if keeping.States > 0 && s.States > keeping.States || upTo > 0 && (s.States == 0 || s.Bytes == 0) || upTo == 0 && s.States > 0 {
				t.Errorf("%s: %+v", name, s)
			}
			k.end()
			files := k.files(t)
			if round == 1 && !slices.Equal(files, before) {
				t.Errorf("%s: after another start there are %q, before it %q", name, files, before)
			}
			if len(files) != s.States {
				t.Errorf("%s: %d states, and files %q", name, s.States, files)
			}
			before = files
		}
		if err := asof.ForgetKept(asof.Dir(log.Path())); err != nil {
			t.Fatal(err)
		}
	}
}

// States keep within their bytes by being merged: the same pages, fewer states.
func TestKeptStatesAreBounded(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	k := keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) { o.Keeping.Every = 3 })
	k.await(t, head/3*3)
	all := k.Status()
	k.end()
	most := all.Bytes * 3 / 4
	k = keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) {
		o.Keeping.Every, o.Keeping.MaxBytes = 3, func() int64 { return most }
	})
	k.wantAt(t, head, log.stops[head])
	if err := k.Forget(t.Context(), head/2); err != nil { // so that the rest is kept within the limit
		t.Fatal(err)
	}
	k.await(t, head/3*3)
	s := k.Status()
	if s.Bytes > most || s.Bytes == 0 || s.States >= all.States || s.MaxBytes != most || s.WidestGap <= 3 {
		t.Errorf("%+v, want less than %+v within %d bytes", s, all, most)
	}
	k.wantAnywhere(t, rand.New(rand.NewPCG(6, 6)), 20, log.stops)
}

func TestUnsoundFilesOfStatesAreNotUsed(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	last := head / 10 * 10
	k := keep(t, log.DB)
	k.await(t, last)
	k.end()
	good := k.files(t)
	content := map[string][]byte{}
	for _, name := range good {
		text, err := os.ReadFile(filepath.Join(k.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		content[name] = text
	}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(k.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flip := func(text []byte, at int) []byte {
		text = slices.Clone(text)
		text[at] ^= 1
		return text
	}
	second := content[good[1]]
	for name, spoil := range map[string]func(){
		"half a layer":       func() { write("layer-abc", second[:5_000]) },
		"half a state":       func() { write(good[1], second[:len(second)/2]) },
		"an empty state":     func() { write(good[1], nil) },
		"a changed end":      func() { write(good[1], flip(second, len(second)-20)) },
		"a changed page":     func() { write(good[1], flip(second, 100)) },
		"another name":       func() { write("000000000000-000000000099.state", second) },
		"one that is gone":   func() { _ = os.Remove(filepath.Join(k.dir, good[1])) },
		"no state":           func() { write("x.state", []byte("x")) },
		"a directory":        func() { _ = os.MkdirAll(filepath.Join(k.dir, "y.state", "z"), 0o700) },
		"the first two gone": func() { _, _ = os.Remove(filepath.Join(k.dir, good[0])), os.Remove(filepath.Join(k.dir, good[1])) },
	} {
		for file, text := range content {
			write(file, text)
		}
		spoil()
		looked, err := asof.Open(t.Context(), asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules, Kept: k.dir}, last+1, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantTables(t, looked, log.stops[last+1])
		wantClosed(t, looked)
		k = keep(t, log.DB)
		k.wantAt(t, 25, log.stops[25])
		k.wantAt(t, head, log.stops[head])
		k.await(t, last)
		k.wantAt(t, 14, log.stops[14])
		k.end()
		if files := k.files(t); !slices.Equal(files, good) {
			t.Errorf("%s: there are %q, want %q", name, files, good)
		}
	}
}

// Whatever the limit is while states are kept, no change is missing in them.
func TestKeptStatesUnderAChangingLimitAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	for seed := range uint64(testscale.Of(1, 8*testscale.Times)) {
		random := rand.New(rand.NewPCG(seed, 3))
		var mu sync.Mutex
		limits := rand.New(rand.NewPCG(seed, 4))
		limit := func() int64 {
			mu.Lock()
			defer mu.Unlock()
			if limits.IntN(3) == 0 {
				return 1
			}
			return enough
		}
		k := keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) { o.Keeping.Every, o.Keeping.MaxBytes = 3, limit })
		for range 4 {
			k.wantAt(t, head, log.stops[head])
			k.wantAnywhere(t, random, 3, log.stops)
			if err := k.Forget(t.Context(), random.Int64N(head)); err != nil {
				t.Fatal(err)
			}
		}
		k.end()
		k = keep(t, log.DB) // with what the process before has kept
		k.wantAnywhere(t, random, 3, log.stops)
		k.end()
		if err := asof.ForgetKept(k.dir); err != nil {
			t.Fatal(err)
		}
	}
}
