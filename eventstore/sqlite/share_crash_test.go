package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
)

// What was acknowledged is in the shared log and in the file, and neither has anything else, whenever the writer is
// killed.
//
// Promise: acknowledged
func TestCrashWhileAppendingToASharedLog(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, appendingShared, crashRounds)
}

// brokerFile has the address of the broker, which outlives the writers.
const brokerFile = "broker"

// appendingShared is appending with a broker. Each file is a copy of a shared log with its name.
var appendingShared = storetest.Scenario{
	Name: "append-shared",
	Prepare: func(t testing.TB, dir string) {
		if err := os.WriteFile(filepath.Join(dir, brokerFile), []byte(natstest.One(t).URL()), 0o600); err != nil {
			t.Fatal(err)
		}
	},
	Work: func(c *storetest.Child) error {
		ctx := context.Background()
		for n := max(len(logsIn(c.Dir)), 1); ; n++ {
			name := fmt.Sprintf("log-%03d.db", n)
			db, log, err := leadAt(ctx, filepath.Join(c.Dir, name))
			if err != nil {
				return err
			}
			if _, err := projections.Start(ctx, db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
				return err
			}
			if err := appendPairs(ctx, c, db, name); err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
			if err := log.Close(); err != nil {
				return err
			}
		}
	},
	Check: func(t testing.TB, dir string, acked []string) {
		ofFile := map[string][]string{}
		for _, ack := range acked {
			file, pair, _ := strings.Cut(ack, " ")
			ofFile[file] = append(ofFile[file], pair)
		}
		files := logsIn(dir)
		for i, path := range files {
			db, log, err := leadAt(t.Context(), path)
			if err != nil {
				t.Fatalf("lead with what the kill has left: %v", err)
			}
			checkPairs(t, db, ofFile[filepath.Base(path)])
			if i == len(files)-1 {
				project(t, db)
				wantSame(t, log, db)
				checkTables(t, db)
			}
			closeLog(t, db)
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}
	},
}

// leadAt opens a file as the writer of its shared log.
func leadAt(ctx context.Context, path string) (*sqlite.DB, shared.Log, error) {
	url, err := os.ReadFile(filepath.Join(filepath.Dir(path), brokerFile))
	if err != nil {
		return nil, nil, err
	}
	log, err := jetstream.Open(ctx, jetstream.Options{URL: string(url), Name: strings.TrimSuffix(filepath.Base(path), ".db")})
	if err != nil {
		return nil, nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Shared: log})
	if err != nil {
		return nil, nil, err
	}
	lease, err := log.Acquire(ctx, "a", time.Hour)
	if err != nil {
		return nil, nil, err
	}
	return db, log, db.Lead(ctx, lease)
}
