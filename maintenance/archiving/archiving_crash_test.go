package archiving_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
	"github.com/pronto-lab/openclawd/projections"
)

// crashRounds is how often archiving is killed, unless the environment says otherwise.
var crashRounds = testscale.Of(2, 8)

// Promise: archives
func TestCrashWhileArchiving(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, archivingKilled, crashRounds)
}

// archivingKilled appends events whose text follows from their seq, and archives them soon after.
var archivingKilled = storetest.Scenario{
	Name: "archive",
	Work: func(c *storetest.Child) error {
		ctx := context.Background()
		db, err := database.OpenToWrite(ctx, filepath.Join(c.Dir, database.Name), "a child", now)
		if err != nil {
			return err
		}
		if _, err := projections.Start(ctx, db, database.Projections(rules), projections.Options{Rules: rules, Now: now}); err != nil {
			return err
		}
		for {
			head, err := db.Head(ctx)
			if err != nil {
				return err
			}
			for n := head.Seq; n < head.Seq+40; n++ {
				data := json.RawMessage(fmt.Sprintf(`{"text":"event %d"}`, n))
				result, err := db.Append(ctx, eventstore.StreamAppend{Stream: "agent/eden", Events: []eventstore.NewEvent{{Type: "agent.said", AgentID: "eden", Data: data}}})
				if err != nil {
					return err
				}
				c.Ack(fmt.Sprintf("%d %s", result.Seq, data))
			}
			request := &archiving.Request{Until: head.Seq + 20, Now: now}
			plan, err := archiving.Prepare(ctx, db, request)
			if err != nil {
				return err
			}
			if _, err := archiving.Run(ctx, db, plan, request, nil); err != nil {
				return err
			}
		}
	},
	Check: func(t testing.TB, dir string, acked []string) {
		path := filepath.Join(dir, database.Name)
		if _, err := os.Stat(path); err != nil {
			return // it was killed before the first append
		}
		db, err := database.OpenToWrite(t.Context(), path, "the test", now)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Verify(t.Context(), false, nil); err != nil {
			t.Fatalf("verify: %v", err)
		}
		head, err := db.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]bool{}
		for after := int64(0); after < head.Seq; {
			events, err := db.Read(t.Context(), after, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for i := range events {
				if events[i].Redacted() {
					t.Fatalf("event %d has lost its payload", events[i].Seq)
				}
				texts[fmt.Sprintf("%d %s", events[i].Seq, events[i].Data)] = true
			}
			after = events[len(events)-1].Seq
		}
		for _, a := range acked {
			if !texts[a] {
				t.Fatalf("acknowledged, but missing: %s", a)
			}
		}
		list, err := database.Archives(db).List()
		if err != nil {
			t.Fatal(err)
		}
		next := int64(1)
		for i := range list {
			if list[i].First != next {
				t.Errorf("archive %s starts at %d, want %d", list[i].File, list[i].First, next)
			}
			next = list[i].Last + 1
			if err := archiving.Verify(t.Context(), db, &list[i]); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.Log(cmp.Diff(nil, list))
		}
	},
}
