package asof_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/redactions"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// keptStates is a running cache that keeps states of a log beside it.
type keptStates struct {
	*asof.Cache[*asof.State]
	log *sqlite.DB
	dir string
	end func()
}

// enough is more than the states of these tests need.
const enough = 1 << 30

// keep runs a cache until the test ends or end is called, by default with a state every ten events.
func keep(t testing.TB, log *sqlite.DB, change ...func(*asof.CacheOptions[*asof.State])) *keptStates {
	t.Helper()
	k := &keptStates{log: log, dir: asof.Dir(log.Path())}
	opts := asof.CacheOptions[*asof.State]{
		Options: asof.Options{Log: log, Dir: k.dir, Rules: rules},
		Keeping: asof.Keeping{MaxBytes: func() int64 { return enough }, Every: 10},
		Now:     time.Now, Make: func(_ context.Context, s *asof.State) (*asof.State, error) { return s, nil },
		Hold: testscale.Patience,
	}
	for _, c := range change {
		c(&opts)
	}
	k.Cache = asof.NewCache(opts)
	ctx, stop := context.WithCancel(context.Background())
	ended, over := make(chan error, 1), false
	go func() { ended <- k.Run(ctx) }()
	k.end = func() {
		if over {
			return
		}
		over = true
		stop()
		if err := errors.Join(<-ended, k.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(k.end)
	return k
}

// await waits until states up to an event are kept.
func (k *keptStates) await(t testing.TB, seq int64) {
	t.Helper()
	late := time.After(testscale.Patience)
	for {
		changed := k.Changed()
		if k.Status().UpTo == seq {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%+v, want states up to %d", k.Status(), seq)
		}
	}
}

// wantAt requests a snapshot and compares its tables.
func (k *keptStates) wantAt(t testing.TB, seq int64, want []string) {
	t.Helper()
	s, release, _, ready, err := k.At(t.Context(), seq)
	if err != nil || !ready {
		t.Fatalf("as of %d: ready %t, %v", seq, ready, err)
	}
	defer release()
	if got := dump(t, s); !slices.Equal(got, want) { // a comparison of long tables takes longer than all else
		t.Fatalf("as of %d, tables (-want +got):\n%.4000s", seq, cmp.Diff(want, got))
	}
}

// files lists the kept files with their sizes.
func (k *keptStates) files(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(k.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// holds reports whether a file in the directory contains a text.
func (k *keptStates) holds(t testing.TB, text string) bool {
	t.Helper()
	for _, name := range k.files(t) {
		content, err := os.ReadFile(filepath.Join(k.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// wantAnywhere compares snapshots at random events, and up and down from these.
func (k *keptStates) wantAnywhere(t testing.TB, random *rand.Rand, points int, stops [][]string) {
	t.Helper()
	head := int64(len(stops) - 1)
	for range points {
		seq := random.Int64N(head + 1)
		for range random.IntN(4) + 1 {
			k.wantAt(t, seq, stops[seq])
			seq = min(max(seq+random.Int64N(7)-3, 0), head)
		}
	}
}

// Of what was left by a process that was killed, by another version or with errors, nothing is used.
// Requests are answered at once; states are made in the background later.
func TestStatesAreKeptSomeTimeAfterTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := tell(t)
		k := keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) { o.Keeping.After = time.Hour })
		k.wantAt(t, 5, log.stops[5])
		<-time.After(59 * time.Minute)
		synctest.Wait()
		if s := k.Status(); s.States > 0 {
			t.Errorf("kept before their time: %+v", s)
		}
		<-time.After(time.Minute)
		k.await(t, int64(len(log.stops)-1)/10*10)
	})
}

// A process was killed after it had written the merger of two states, before it removed these.
func TestHalfAMergerIsCompleted(t *testing.T) {
	t.Parallel()
	log := tell(t)
	last := int64(len(log.stops)-1) / 10 * 10
	k := keep(t, log.DB)
	k.await(t, last)
	k.end()
	copies := map[string][]byte{}
	for _, name := range k.files(t) {
		copies[name], _ = os.ReadFile(filepath.Join(k.dir, name))
	}
	few := func(o *asof.CacheOptions[*asof.State]) { o.Keeping.Every, o.Keeping.States = 5, 2 }
	k = keep(t, log.DB, few)
	k.await(t, int64(len(log.stops)-1)/5*5)
	k.end()
	merged := k.files(t)
	for name, text := range copies {
		if err := os.WriteFile(filepath.Join(k.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k = keep(t, log.DB, few)
	k.wantAnywhere(t, rand.New(rand.NewPCG(1, 2)), 5, log.stops)
	k.end()
	if files := k.files(t); len(files) > 2 {
		t.Errorf("there are %q, want those that were merged, %q", files, merged)
	}
}

// redact blanks an event as maintenance/redact does.
func redact(t testing.TB, log *sqlite.DB, seq int64) {
	t.Helper()
	said, err := json.Marshal(coordination.LogRedacted{RedactionID: "r1", Seqs: []int64{seq}, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.RedactBy(t.Context(), func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
		return []int64{seq}, []eventstore.StreamAppend{{Stream: redactions.Streams + "r1",
			Events: []eventstore.NewEvent{{Type: coordination.TypeLogRedacted, Data: said}}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A redacted text is in no kept state afterwards, whether the process was told, ended, or another one redacted.
func TestRedactedTextIsInNoKeptState(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		log := tell(t)
		const secret = "the-secret-of-this-test"
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/own", Events: []eventstore.NewEvent{
			{Type: coordination.TypeA2ASend, AgentID: "main", Data: []byte(`{"toAgent":"ruda","workSessionId":"` + secret + `","message":"` + secret + `"}`)}}}); err != nil {
			t.Fatal(err)
		}
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seq := head.Seq
		for range 20 {
			if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/other", Events: []eventstore.NewEvent{
				{Type: coordination.TypeA2ASend, AgentID: "main", Data: []byte(`{"toAgent":"ruda"}`)}}}); err != nil {
				t.Fatal(err)
			}
		}
		k := keep(t, log.DB)
		k.await(t, (seq+20)/10*10)
		k.wantAt(t, seq-1, log.stops[seq-1])
		if !k.holds(t, secret) {
			t.Fatal("the text is in no state before it is redacted")
		}
		if told {
			redact(t, log.DB, seq)
			if err := k.Forget(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		} else {
			k.end()
			redact(t, log.DB, seq)
			looked := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules, Kept: k.dir}, seq+15)
			want := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules}, seq+15)
			wantTables(t, looked, dump(t, want))
			k = keep(t, log.DB)
		}
		want := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules}, seq+15)
		k.wantAt(t, seq+15, dump(t, want))
		if strings.Contains(strings.Join(dump(t, want), "\n"), secret) {
			t.Error("the tables of a redacted log contain the text")
		}
		k.await(t, (seq+21)/10*10)
		if k.holds(t, secret) {
			t.Errorf("told %t: a state holds the redacted text", told)
		}
		if s := k.Status(); s.States == 0 {
			t.Errorf("told %t: %+v, want states", told, s)
		}
	}
}

// Another log in the place of the one that states were made of, and other rules, make them worthless.
func TestStatesOfAnotherLogOrVersionAreNotUsed(t *testing.T) {
	t.Parallel()
	log, other := tell(t), tell(t)
	last := int64(len(log.stops)-1) / 10 * 10
	k := keep(t, log.DB)
	k.await(t, last)
	k.end()
	dir := asof.Dir(other.Path())
	if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	looked := at(t, asof.Options{Log: other.DB, Dir: t.TempDir(), Rules: rules, Kept: dir}, last)
	wantTables(t, looked, other.stops[last])
	k = keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) {
		o.Rules, o.Keeping.MaxBytes = coordination.RulesV1, func() int64 { return 1 }
	})
	want := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: coordination.RulesV1}, last)
	s, release, _, ready, err := k.At(t.Context(), last)
	if err != nil || !ready {
		t.Fatal(ready, err)
	}
	defer release()
	wantTables(t, s, dump(t, want))
	if s := k.Status(); s.States > 0 {
		t.Errorf("%+v, want none by other rules", s)
	}
}

// A page that changes on disk while the process runs is noticed, and made again.
func TestDamagedStateIsMadeAgain(t *testing.T) {
	t.Parallel()
	log := tell(t)
	last := int64(len(log.stops)-1) / 10 * 10
	k := keep(t, log.DB)
	k.await(t, last)
	for _, name := range k.files(t) {
		file, err := os.OpenFile(filepath.Join(k.dir, name), os.O_RDWR, 0)
		if err != nil {
			continue // a layer that has gone
		}
		if filepath.Ext(name) == ".state" {
			_, err = file.WriteAt(bytes.Repeat([]byte("damage.."), 512), 0)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for seq := last; seq > 0; seq -= 9 {
		k.wantAt(t, seq, log.stops[seq])
	}
	k.await(t, last)
}

func dump(t testing.TB, s *asof.State) []string {
	t.Helper()
	return projectiontest.Dump(t, s, database.Projections(rules)...)
}

// blank overwrites the pages of a kept file, and makes its checksums those of the new content.
func blank(t testing.TB, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const footer = 24 // magic, slots, pages, length of the note, checksum
	slots := int(binary.LittleEndian.Uint32(text[len(text)-footer+8:]))
	end, table := slots*pages.Size, crc32.MakeTable(crc32.Castagnoli)
	clear(text[:end])
	for n := range slots {
		binary.LittleEndian.PutUint32(text[end+slots*4+n*4:], crc32.Checksum(text[:pages.Size], table))
	}
	binary.LittleEndian.PutUint32(text[len(text)-4:], crc32.Checksum(text[end:len(text)-4], table))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// States whose content is bad although their checksums are right are given up.
func TestBadStatesAreGivenUp(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	last := head / 10 * 10
	for bad := range 2 { // the newest one, or all
		k := keep(t, log.DB)
		k.await(t, last)
		k.end()
		files := k.files(t)
		if bad == 0 {
			files = files[len(files)-1:]
		}
		for _, name := range files {
			blank(t, filepath.Join(k.dir, name))
		}
		looked := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules, Kept: k.dir}, head)
		wantTables(t, looked, log.stops[head])
		k = keep(t, log.DB)
		k.wantAt(t, head, log.stops[head])
		k.wantAt(t, 14, log.stops[14])
		k.await(t, last)
		k.wantAt(t, last, log.stops[last])
		k.end()
	}
}

// Where states cannot be kept, there are answers without them, and Forget says that it has not removed what is there.
func TestDirectoryThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := keep(t, log.DB, func(o *asof.CacheOptions[*asof.State]) { o.Dir = filepath.Join(file, "past") })
	k.wantAnywhere(t, rand.New(rand.NewPCG(1, 1)), 5, log.stops)
	k.wantAt(t, head, log.stops[head])
	if s := k.Status(); s.States > 0 || s.MaxBytes > 0 || s.Snapshots == 0 {
		t.Errorf("%+v, want snapshots and no states", s)
	}
	if err := k.Forget(t.Context(), 1); err == nil {
		t.Error("Forget says that the states are removed")
	}
}

// A directory that was removed while the process runs is made again, and a state that cannot be kept fails no request.
func TestStatesThatCannotBeKeptFailNoRequest(t *testing.T) {
	t.Parallel()
	log := tell(t)
	last := int64(len(log.stops)-1) / 10 * 10
	k := keep(t, log.DB)
	k.await(t, last)
	if err := os.RemoveAll(k.dir); err != nil {
		t.Fatal(err)
	}
	k.wantAt(t, last-2, log.stops[last-2])
	inTheWay := filepath.Join(k.dir, fmt.Sprintf("%012d-%012d.state", last, last+10), "x")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 25 {
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "test/other", Events: []eventstore.NewEvent{
			{Type: coordination.TypeA2ASend, AgentID: "main", Data: []byte(`{"toAgent":"ruda"}`)}}}); err != nil {
			t.Fatal(err)
		}
	}
	want := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules}, last+21)
	k.wantAt(t, last+21, dump(t, want))
	if s := k.Status(); s.UpTo != last {
		t.Errorf("%+v, want states up to %d", s, last)
	}
}
