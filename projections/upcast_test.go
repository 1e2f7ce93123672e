package projections_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// seen keeps what a fold is given.
type seen []projections.Event

func (s *seen) Apply(_ eventstore.Tx, e *projections.Event) error {
	*s = append(*s, *e)
	return nil
}

func (*seen) Rows() []projections.Rows { return nil }

// Folds see data in today's shape, live and when rebuilding; the log keeps it as it was written. What a newer openclawd wrote is read as
// it is, and said once.
func TestFoldsReadOldVersionsAsNewOnes(t *testing.T) {
	t.Parallel()
	fold := new(seen)
	def := projections.Definition{Name: "seen", Version: "1", Kind: projections.ReadModel, New: func(func(string) string) projections.Projector { return fold }}
	b := setup(t, def)
	var logged bytes.Buffer
	b.logger = slog.New(slog.NewTextHandler(&logged, nil))
	b.reopen(t)
	config := func(ver int, data string) eventstore.NewEvent {
		return eventstore.NewEvent{Type: coordination.TypeConfigApplied, Ver: ver, Data: []byte(data)}
	}
	written := []string{`{"agents":[]}`, `{"agents":[],"settings":{"a":1}}`, `{"beyond":true}`, `{"beyond":2}`}
	b.append(t, config(1, written[0]), config(2, written[1]), config(9, written[2]), config(9, written[3]))
	want := []string{`{"agents":[],"settings":{}}`, written[1], written[2], written[3]}
	check := func(how string) {
		t.Helper()
		if len(*fold) != len(want) {
			t.Fatalf("%s: the fold saw %d events", how, len(*fold))
		}
		for i, e := range *fold {
			if string(e.Data) != want[i] {
				t.Errorf("%s: event %d is %s, want %s", how, i+1, e.Data, want[i])
			}
		}
	}
	b.wantLive(t) // a reader, for whom it is applied
	check("live")
	*fold = nil
	b.rebuild(t, projections.RebuildOptions{})
	check("rebuilt")
	if n := strings.Count(logged.String(), "cannot upcast event"); n != 1 {
		t.Errorf("the newer version was reported %d times:\n%s", n, &logged)
	}
	events, err := b.Read(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if string(e.Data) != written[i] {
			t.Errorf("event %d is stored as %s", i+1, e.Data)
		}
	}
	if _, err := b.Verify(t.Context(), false, nil); err != nil {
		t.Error(err)
	}
}
