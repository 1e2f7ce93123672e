package ndjson_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

func TestMain(m *testing.M) { storetest.CrashMain(m, mirroring, crashing) }

// clockMs is the time of every store's clock.
const clockMs = 1_771_588_800_000

func newLog() *storetest.Model {
	now := func() time.Time { return time.UnixMilli(clockMs) }
	random := rand.NewChaCha8([32]byte{1})
	return storetest.NewModel(now, eventstore.NewIDs(now, random), random)
}

// options are import options with which everything is stored.
func options(log *storetest.Model) ndjson.Options {
	return ndjson.Options{
		Log:      log,
		Restorer: log,
		Stream: func(_, agentID string, _, _ []byte) string {
			if agentID == "" {
				return "log"
			}
			return "agent/" + agentID
		},
		Reject: func(file string, line int64, r ndjson.Rejection) (string, json.RawMessage) {
			data, err := json.Marshal(map[string]any{"file": file, "line": line, "reason": r.Reason, "text": r.Text})
			if err != nil {
				panic(err)
			}
			return "import.rejected", data
		},
	}
}

func mustImport(t testing.TB, im *ndjson.Importer, text, name string) ndjson.FileReport {
	t.Helper()
	report, err := im.Import(t.Context(), strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func mustExport(t testing.TB, log eventstore.Reader, o ndjson.ExportOptions) string {
	t.Helper()
	var b strings.Builder
	if _, err := ndjson.Export(t.Context(), log, &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// all reads the whole log and checks its chain on the way.
func all(t testing.TB, log eventstore.Reader) []eventstore.Event {
	t.Helper()
	n, err := storetest.VerifyChain(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	events, err := log.Read(t.Context(), 0, int(n)+1)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// faulty is a log whose appends fail as long as fail returns an error.
type faulty struct {
	*storetest.Model
	fail func([]eventstore.StreamAppend) error
}

func (f faulty) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	if err := f.fail(appends); err != nil {
		return eventstore.Result{}, err
	}
	return f.Model.Append(ctx, appends...)
}

// errAfter reads text and then fails.
func errAfter(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), failing{err})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
