package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
)

// now is the creation time of the archives in these tests.
func now() time.Time { return time.UnixMilli(1_771_000_000_123).UTC() }

// history is a log in memory: archives read only events of a log.
type history struct {
	eventstore.Reader
	events []eventstore.Event
}

func (h *history) Read(_ context.Context, after int64, limit int) ([]eventstore.Event, error) {
	after = min(after, int64(len(h.events)))
	return slices.Clone(h.events[after:min(after+int64(limit), int64(len(h.events)))]), nil
}

func (h *history) Event(_ context.Context, seq int64) (eventstore.Event, error) {
	if seq < 1 || seq > int64(len(h.events)) {
		return eventstore.Event{}, eventstore.ErrNotFound
	}
	return h.events[seq-1], nil
}

// add appends an event with a payload, nil for one that was redacted.
func (h *history) add(data, original []byte) {
	e := eventstore.Event{Seq: int64(len(h.events) + 1), Stream: "agent/eden", Version: int64(len(h.events) + 1), Type: "agent.said", Ver: 1, AgentID: "eden",
		TS: 1_770_000_000_000 + int64(len(h.events)), RecordedAt: 1_770_000_000_000, Actor: eventstore.ActorAgent}
	e.ID[0], e.ID[14], e.ID[15] = 1, byte(len(h.events)>>8), byte(len(h.events))
	salt := sha256.Sum256([]byte(fmt.Sprint("salt", len(h.events))))
	e.Salt = salt[:eventstore.SaltBytes]
	e.Data, e.Original = data, original
	e.DataHash = eventstore.PayloadHash(e.Salt, data, original)
	if data == nil {
		e.Salt = nil
	}
	var before eventstore.Hash
	if n := len(h.events); n > 0 {
		before = h.events[n-1].Hash
	}
	e.Hash = eventstore.ChainHash(before, &e)
	h.events = append(h.events, e)
}

func said(text string) []byte {
	data, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err)
	}
	return data
}

func someHistory(n int) *history {
	h := &history{}
	for i := range n {
		switch {
		case i%97 == 5:
			h.add(nil, nil)
		case i%31 == 7:
			h.add(said(fmt.Sprint("안녕하세요 ", i)), []byte(`{ "type" : "agent.said", "odd": 1 }`))
		case i%41 == 9:
			h.add([]byte("{\n \"text\": \"on two lines\"\n}"), []byte(" {\"type\":\"agent.said\"} "))
		default:
			h.add(said(strings.Repeat(fmt.Sprint("words ", i, " "), 5)), nil)
		}
	}
	return h
}

func seal(t *testing.T, dir *archive.Dir, h *history, first, last int64) archive.Manifest {
	t.Helper()
	m, err := dir.Seal(t.Context(), h, first, last, now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// blank returns an event as a log has it after archiving its payload.
func blank(e eventstore.Event) eventstore.Event {
	e.Data, e.Original, e.Salt = nil, nil, nil
	return e
}

// byBytes compares payloads, which may be large, as a whole.
func byBytes() cmp.Option {
	return cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) })
}

func wantFilled(t testing.TB, dir *archive.Dir, h *history, first, last int64) {
	t.Helper()
	for seq := first; seq <= last; seq++ {
		want := h.events[seq-1]
		got := blank(want)
		filled, err := dir.Fill(t.Context(), &got)
		if err != nil || filled != !want.Redacted() {
			t.Fatalf("event %d: filled %v, %v; want %v", seq, filled, err, !want.Redacted())
		}
		if diff := cmp.Diff(want, got, byBytes()); diff != "" {
			t.Fatalf("event %d is not the one that was archived (-want +got):\n%s", seq, diff)
		}
	}
}

func TestArchiveGivesTheEventsBack(t *testing.T) {
	t.Parallel()
	h := someHistory(3500)
	dir := archive.Open(filepath.Join(t.TempDir(), "archive"))
	first, second := seal(t, dir, h, 1, 2100), seal(t, dir, h, 2101, 3400)
	if first.Events != 2100 || len(first.Frames) != 3 || second.Before != h.events[2099].Hash || second.Head != h.events[3399].Hash {
		t.Errorf("manifests: %+v, %+v", first, second)
	}
	if first.Bytes >= first.RawBytes {
		t.Errorf("%d bytes of %d: it was not packed", first.Bytes, first.RawBytes)
	}
	for _, d := range []*archive.Dir{dir, archive.Open(dir.Path())} {
		wantFilled(t, d, h, 1, 3400)
		outside := blank(h.events[3449])
		if filled, err := d.Fill(t.Context(), &outside); filled || err != nil {
			t.Errorf("an event that is in no archive: filled %v, %v", filled, err)
		}
		list, err := d.List()
		if err != nil || len(list) != 2 {
			t.Fatalf("%d archives, %v; want 2", len(list), err)
		}
		if diff := cmp.Diff([]archive.Manifest{first, second}, list); diff != "" {
			t.Errorf("the manifests that are read are not those that were made (-want +got):\n%s", diff)
		}
	}
}

func TestSealedHistoryIsTheHistory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		h := &history{}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			if rapid.IntRange(0, 9).Draw(t, "redacted") == 0 {
				h.add(nil, nil)
				continue
			}
			data := said(rapid.String().Draw(t, "text"))
			if rapid.Bool().Draw(t, "lines") {
				var b bytes.Buffer
				if err := json.Indent(&b, data, "", "\t"); err != nil {
					t.Fatal(err)
				}
				data = b.Bytes()
			}
			var original []byte
			if rapid.Bool().Draw(t, "original") {
				original = []byte(" " + string(said(rapid.String().Draw(t, "envelope"))) + "\r\n")
			}
			h.add(data, original)
		}
		first := rapid.Int64Range(1, int64(len(h.events))).Draw(t, "first")
		last := rapid.Int64Range(first, int64(len(h.events))).Draw(t, "last")
		n++
		dir := archive.Open(filepath.Join(base, fmt.Sprint(n)))
		m, err := dir.Seal(context.Background(), h, first, last, now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.Verify(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		for seq := first; seq <= last; seq++ {
			want := h.events[seq-1]
			got := blank(want)
			if filled, err := dir.Fill(context.Background(), &got); err != nil || filled == want.Redacted() {
				t.Fatalf("event %d: filled %v, %v", seq, filled, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("event %d (-want +got):\n%s", seq, diff)
			}
		}
	})
}

func TestSealingAgainUsesWhatIsThere(t *testing.T) {
	t.Parallel()
	h := someHistory(1200)
	dir := archive.Open(t.TempDir())
	m := seal(t, dir, h, 1, 1000)
	if again := seal(t, dir, h, 1, 1000); again.SHA256 != m.SHA256 || again.File != m.File {
		t.Errorf("sealed again: %s, %s; want %s, %s", again.File, again.SHA256, m.File, m.SHA256)
	}
	_, err := dir.Seal(t.Context(), h, 900, 1100, now(), nil)
	if _, ok := errors.AsType[*archive.OverlapError](err); !ok {
		t.Errorf("a range that overlaps: %v, want an *OverlapError", err)
	}
	_, err = dir.Seal(t.Context(), h, 1101, 1300, now(), nil)
	if !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("a range behind the end of the log: %v, want ErrNotFound", err)
	}
	if left := names(t, dir.Path()); !slices.Equal(left, []string{"1-1000.json", "1-1000.ndjson.zst"}) {
		t.Errorf("in the directory: %v", left)
	}
	for _, name := range names(t, dir.Path()) {
		if info, err := os.Stat(filepath.Join(dir.Path(), name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v; want 0600", name, info.Mode(), err)
		}
	}
}

func TestKilledSealLeavesNothingThatCounts(t *testing.T) {
	t.Parallel()
	h := someHistory(300)
	dir := archive.Open(t.TempDir())
	whole := archive.Open(t.TempDir())
	m := seal(t, whole, h, 1, 300)
	packed, err := os.ReadFile(filepath.Join(whole.Path(), m.File))
	if err != nil {
		t.Fatal(err)
	}
	// It was killed while writing, and another time between the file and its manifest.
	write(t, filepath.Join(dir.Path(), m.File+".part"), packed[:len(packed)/2])
	write(t, filepath.Join(dir.Path(), m.File), packed[:len(packed)/3])
	if list, err := dir.List(); err != nil || len(list) != 0 {
		t.Errorf("%d archives, %v; want none without a manifest", len(list), err)
	}
	if got := seal(t, dir, h, 1, 300); got.SHA256 != m.SHA256 {
		t.Errorf("sealed after a kill: %s, want %s", got.SHA256, m.SHA256)
	}
	wantFilled(t, dir, h, 1, 300)
	if left := names(t, dir.Path()); !slices.Equal(left, []string{"1-300.json", "1-300.ndjson.zst"}) {
		t.Errorf("in the directory: %v", left)
	}
}

func TestDamagedArchiveSaysWhichFile(t *testing.T) {
	t.Parallel()
	h := someHistory(2500)
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir, file string)
	}{
		{"it is gone", func(t *testing.T, dir, file string) { remove(t, filepath.Join(dir, file)) }},
		{"it is cut off", func(t *testing.T, dir, file string) {
			text := read(t, filepath.Join(dir, file))
			write(t, filepath.Join(dir, file), text[:len(text)/2])
		}},
		{"a byte was changed", func(t *testing.T, dir, file string) {
			text := read(t, filepath.Join(dir, file))
			text[len(text)-100] ^= 0x40
			write(t, filepath.Join(dir, file), text)
		}},
		{"it is another archive", func(t *testing.T, dir, file string) {
			other := archive.Open(t.TempDir())
			m := seal(t, other, someOtherHistory(2500), 1, 2500)
			write(t, filepath.Join(dir, file), read(t, filepath.Join(other.Path(), m.File)))
		}},
		{"its manifest is no JSON", func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "1-2500.json"), []byte("{")) }},
		{"its manifest is of another range", func(t *testing.T, dir, _ string) {
			text := bytes.Replace(read(t, filepath.Join(dir, "1-2500.json")), []byte(`"last": 2500`), []byte(`"last": 2400`), 1)
			write(t, filepath.Join(dir, "1-2500.json"), text)
		}},
		{"its manifest names a file elsewhere", func(t *testing.T, dir, _ string) {
			text := bytes.Replace(read(t, filepath.Join(dir, "1-2500.json")), []byte(`"file": "`), []byte(`"file": "../`), 1)
			write(t, filepath.Join(dir, "1-2500.json"), text)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := archive.Open(t.TempDir())
			m := seal(t, dir, h, 1, 2500)
			c.damage(t, dir.Path(), m.File)
			dir = archive.Open(dir.Path())
			e := blank(h.events[2489])
			filled, err := dir.Fill(t.Context(), &e)
			gone, ok := errors.AsType[*eventstore.ArchivedError](err)
			if filled || !ok || gone.First != 1 || gone.Last != 2500 || !strings.HasPrefix(gone.File, dir.Path()) || e.Data != nil {
				t.Errorf("filled %v, %v; want an *ArchivedError that names the file in %s", filled, err, dir.Path())
			}
			list, err := dir.List()
			if err == nil {
				err = dir.Verify(t.Context(), list[0])
			}
			if _, ok := errors.AsType[*eventstore.ArchivedError](err); !ok {
				t.Errorf("verify: %v, want an *ArchivedError", err)
			}
		})
	}
}

func TestForgottenTextIsInNoFile(t *testing.T) {
	t.Parallel()
	h := someHistory(2200)
	dir, reader := archive.Open(t.TempDir()), (*archive.Dir)(nil)
	seal(t, dir, h, 1, 1500)
	other := seal(t, dir, h, 1501, 2200)
	reader = archive.Open(dir.Path()) // another reader with its own cache
	wantFilled(t, reader, h, 1, 2200)

	secret := h.events[1200]
	rewritten, err := dir.Forget(t.Context(), []int64{1201, 12, 99_999})
	if err != nil || len(rewritten) != 1 || rewritten[0].File != "1-1500.2.ndjson.zst" {
		t.Fatalf("forgot: %+v, %v; want the one archive rewritten", rewritten, err)
	}
	h.events[1200], h.events[11] = blank(secret), blank(h.events[11])
	for _, d := range []*archive.Dir{dir, reader, archive.Open(dir.Path())} {
		wantFilled(t, d, h, 1, 2200)
	}
	if left := names(t, dir.Path()); !slices.Equal(left, []string{"1-1500.2.ndjson.zst", "1-1500.json", "1501-2200.json", "1501-2200.ndjson.zst"}) {
		t.Errorf("in the directory: %v", left)
	}
	for _, text := range []string{string(secret.Data), hex.EncodeToString(secret.Salt)} {
		if all := unpacked(t, dir.Path()); bytes.Contains(all, []byte(text)) {
			t.Errorf("%q is still there", text)
		}
	}
	if err := dir.Verify(t.Context(), rewritten[0]); err != nil {
		t.Error(err)
	}
	again, err := dir.Forget(t.Context(), []int64{1201, 12})
	if err != nil || len(again) != 0 {
		t.Errorf("forgot again: %+v, %v; want nothing to do", again, err)
	}
	more, err := dir.Forget(t.Context(), []int64{1})
	if err != nil || len(more) != 1 || more[0].File != "1-1500.3.ndjson.zst" {
		t.Errorf("forgot another one: %+v, %v", more, err)
	}
	list, err := dir.List()
	if err != nil || list[1].SHA256 != other.SHA256 {
		t.Errorf("the other archive was touched: %v", err)
	}
}

func TestKilledForgettingIsDoneAgain(t *testing.T) {
	t.Parallel()
	h := someHistory(400)
	dir := archive.Open(t.TempDir())
	m := seal(t, dir, h, 1, 400)
	old := read(t, filepath.Join(dir.Path(), m.File))
	if _, err := dir.Forget(t.Context(), []int64{3}); err != nil {
		t.Fatal(err)
	}
	// It was killed before the old file, which still has the text, was removed.
	write(t, filepath.Join(dir.Path(), m.File), old)
	if _, err := archive.Open(dir.Path()).Forget(t.Context(), []int64{3}); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir.Path()); !slices.Equal(left, []string{"1-400.2.ndjson.zst", "1-400.json"}) {
		t.Errorf("in the directory: %v, want the old file gone", left)
	}
}

func TestArchiveWithoutManifestIsNotRemoved(t *testing.T) {
	t.Parallel()
	h := someHistory(400)
	dir := archive.Open(t.TempDir())
	seal(t, dir, h, 1, 200)
	seal(t, dir, h, 201, 400)
	remove(t, filepath.Join(dir.Path(), "1-200.json"))
	if _, err := dir.Forget(t.Context(), []int64{300}); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir.Path()); !slices.Contains(left, "1-200.ndjson.zst") {
		t.Errorf("in the directory: %v: what may be the only copy is gone", left)
	}
}

func TestLargePayloadsHaveFramesOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := &history{}
	for i := range 4 {
		h.add(said(strings.Repeat(fmt.Sprint(i, "가나다라 "), 90_000)), nil)
	}
	dir := archive.Open(t.TempDir())
	m := seal(t, dir, h, 1, 4)
	if len(m.Frames) != 4 {
		t.Errorf("%d frames, want 4: reading one event must not unpack the others", len(m.Frames))
	}
	wantFilled(t, dir, h, 1, 4)
	wantFilled(t, dir, h, 1, 4)
}

func someOtherHistory(n int) *history {
	h := &history{}
	for i := range n {
		h.add(said(fmt.Sprint("of another log ", i)), nil)
	}
	return h
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}
