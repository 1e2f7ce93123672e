package sessions_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
var crashRounds = testscale.Of(3, 20)

// crashLogSize is how many events a log of the crash scenario gets before the next is started, so that checking stays quick.
var crashLogSize = testscale.Of[int64](100, 600)

// Acknowledged sessions, labels, transcripts and messages exist after a kill, and the same after a rebuild.
func TestCrashWhileCommanding(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, commanding, crashRounds)
}

// commanding patches, says, resets and deletes.
var commanding = storetest.Scenario{
	Name: "session",
	Work: func(c *storetest.Child) error {
		ctx := context.Background()
		for n := max(len(crashLogs(c.Dir)), 1); ; n++ {
			file := fmt.Sprintf("log-%03d.db", n)
			db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(c.Dir, file)})
			if err != nil {
				return err
			}
			engine, err := projections.Start(ctx, db, []projections.Definition{sessions.Definition()}, projections.Options{Rules: coordination.RulesV2})
			if err != nil {
				return err
			}
			if err := commandUntilLarge(ctx, c, &log{DB: db, engine: engine}, file); err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
		}
	},
	Check: checkCrashLogs,
}

// commandUntilLarge lets a few workers have sessions of their own. Each acknowledgement is "<file> <key> <what> <name>".
func commandUntilLarge(ctx context.Context, c *storetest.Child, l *log, file string) error {
	const workers = 3
	var working sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		prefix := fmt.Sprintf("%x", c.Rand.Uint64())
		working.Go(func() {
			for i := 0; errs[w] == nil; i++ {
				key := coordination.MainKey("eden")
				key.ID = fmt.Sprintf("%s-%d", prefix, i)
				errs[w] = commandOne(ctx, c, l, file, key)
				if head, err := l.Head(ctx); err != nil || head.Seq > crashLogSize {
					errs[w] = errors.Join(errs[w], err)
					return
				}
			}
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

func commandOne(ctx context.Context, c *storetest.Child, l *log, file string, key coordination.SessionKey) error {
	ack := func(err error, what, name string) error {
		if err == nil {
			c.Ack(strings.Join([]string{file, key.String(), what, name}, " "))
		}
		return err
	}
	say := func(id string) error {
		return ack(l.command(ctx, key, 1, func(_ eventstore.Tx, s session.State) ([]session.Event, error) {
			return session.Say(s, session.SayCommand{Message: coordination.SessionMessage{Author: "user", Text: "배포 " + id, MessageID: id}})
		}), "said", id)
	}
	newID := func(n int) session.Command { return session.Command{NewID: fmt.Sprintf("%s-t%d", key.ID, n)} }
	if err := ack(l.patch(ctx, key, 0, newID(0).NewID, fmt.Sprintf(`{"label":"label %s","thinkingLevel":"max"}`, key.ID)), "label", key.ID); err != nil {
		return err
	}
	if err := say(key.ID + "-m0"); err != nil {
		return err
	}
	err := ack(l.command(ctx, key, 2, func(_ eventstore.Tx, s session.State) ([]session.Event, error) {
		return session.Reset(s, session.ResetCommand{Command: newID(1)})
	}), "began", newID(1).NewID)
	if err != nil {
		return err
	}
	if err := say(key.ID + "-m1"); err != nil {
		return err
	}
	gone := key
	gone.ID += "-gone"
	if err := l.patch(ctx, gone, 3, gone.ID, `{"execNode":"n"}`); err != nil {
		return err
	}
	err = l.command(ctx, gone, 4, func(_ eventstore.Tx, s session.State) ([]session.Event, error) {
		return session.Delete(s, session.DeleteCommand{})
	})
	return ack(err, "deleted", gone.ID)
}

func crashLogs(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "log-*.db"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	return files
}

func checkCrashLogs(t testing.TB, dir string, acked []string) {
	there := map[string]bool{}
	files := crashLogs(dir)
	for i, path := range files {
		l := openAt(t, path)
		defer l.close(t)
		if _, err := l.Verify(t.Context(), false, nil); err != nil {
			t.Fatalf("verify what the kill has left: %v", err)
		}
		for _, fact := range l.facts(t) {
			there[filepath.Base(path)+" "+fact] = true
		}
		if i < len(files)-1 {
			continue
		}
		left := l.dump(t)
		if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l.dump(t), left); diff != "" {
			t.Errorf("tables differ from rebuilt ones (-rebuilt +left):\n%.4000s", diff)
		}
	}
	for _, ack := range acked {
		words := strings.Split(ack, " ")
		if gone := words[2] == "deleted"; gone && there[words[0]+" agent:eden:"+words[3]+" is "+words[3]] || !gone && !there[ack] {
			t.Errorf("acknowledged %s is not so", ack)
		}
	}
}

// facts reads the views, in the words of acknowledgements.
func (l *log) facts(t testing.TB) []string {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (facts []string, err error) {
		rows, err := tx.QueryContext(ctx, `SELECT key || ' label ' || substr(label, 7) FROM v_sessions WHERE settings ->> '$.thinkingLevel' = 'high'
 UNION ALL SELECT key || ' is ' || session_id FROM v_sessions
 UNION ALL SELECT key || ' began ' || session_id FROM v_session_transcripts WHERE present
 UNION ALL SELECT key || ' said ' || substr(text, 4) FROM v_session_messages`)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var fact string
			if err := rows.Scan(&fact); err != nil {
				return nil, err
			}
			facts = append(facts, fact)
		}
		return facts, rows.Err()
	})
}
