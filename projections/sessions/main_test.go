package sessions_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestMain(m *testing.M) {
	testscale.Checks(2, 30)
	storetest.CrashMain(m, commanding)
}

// base is what times in these tests are relative to, ms since 1970.
const base = 1_790_000_000_000

// log is a log with the sessions in it.
type log struct {
	*sqlite.DB
	engine *projections.Engine
	path   string
}

func setup(t testing.TB) *log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	l := openAt(t, path)
	t.Cleanup(func() { l.close(t) })
	return l
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, sessions.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{sessions.Definition()}, projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	return &log{db, engine, path}
}

func (l *log) close(t testing.TB) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func (l *log) append(t testing.TB, events ...eventstore.NewEvent) eventstore.Result {
	t.Helper()
	result, err := l.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (l *log) list(t testing.TB, q sessions.Query) []sessions.Session {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Session, error) { return sessions.List(ctx, tx, q) })
}

func (l *log) byKey(t testing.TB, key string) *sessions.Session {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (*sessions.Session, error) { return sessions.ByKey(ctx, tx, key) })
}

func (l *log) newest(t testing.TB, id string, limit, maxBytes int) []sessions.Message {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return sessions.Newest(ctx, tx, id, limit, maxBytes)
	})
}

func (l *log) transcripts(t testing.TB, key string) []sessions.Transcript {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Transcript, error) {
		return sessions.Transcripts(ctx, tx, key)
	})
}

// command decides and appends.
func (l *log) command(ctx context.Context, key coordination.SessionKey, ms int64, d func(eventstore.Tx, session.State) ([]session.Event, error)) error {
	_, err := l.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, found, err := sessions.Load(tx, key)
		if err != nil {
			return nil, err
		}
		if found != s.Exists() {
			return nil, fmt.Errorf("found: %v, but %+v", found, s)
		}
		decided, err := d(tx, s)
		if err != nil {
			return nil, err
		}
		return sessions.Append(s, eventstore.ActorHuman, base+ms, decided)
	})
	return err
}

func (l *log) patch(ctx context.Context, key coordination.SessionKey, ms int64, newID, values string) error {
	return l.command(ctx, key, ms, func(tx eventstore.Tx, s session.State) ([]session.Event, error) {
		c := session.PatchCommand{Command: session.Command{By: "cli", NewID: newID}}
		if err := json.Unmarshal([]byte(values), &c.Values); err != nil {
			return nil, err
		}
		return session.Patch(s, c, func(label string) (string, error) { return sessions.LabelHolder(tx, label) })
	})
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, sessions.Definition())
}

// event is one of our own, ms after base. data is its data without the braces.
func event(ms int64, typ, data string) eventstore.NewEvent {
	return eventstore.NewEvent{Type: "session." + typ, AgentID: "eden", Data: json.RawMessage("{" + data + "}")}.WithTS(base + ms)
}

// say is a message, to the session of agent eden's that has that name, if the rest of its data says nothing else.
func say(ms int64, name, author, text string, more ...string) eventstore.NewEvent {
	data := fmt.Sprintf(`"sessionKey":"agent:eden:%s","author":%q,"text":%q`, name, author, text)
	return event(ms, "message", strings.Join(append([]string{data}, more...), ","))
}

// brief writes down what is not blank in a struct, times relative to base.
func brief(v any) string {
	var b strings.Builder
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		f, name := value.Field(i), value.Type().Field(i).Name
		switch {
		case f.IsZero(), f.Kind() == reflect.Map && f.Len() == 0:
		case strings.HasSuffix(name, "At"):
			fmt.Fprintf(&b, " %s=%d", name, f.Int()-base)
		case f.Kind() == reflect.Map:
			text, err := json.Marshal(f.Interface())
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&b, " %s=%s", name, text)
		default:
			fmt.Fprintf(&b, " %s=%v", name, f.Interface())
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

func inStream(name string, events ...eventstore.NewEvent) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: name, Events: events}
}
