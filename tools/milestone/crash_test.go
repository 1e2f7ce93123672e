package milestone_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// crashRounds is the default number of kills of the crash scenario.
var crashRounds = testscale.Of(4, 8)

// crashItems is the number of items, each of which follows one task after the other.
const crashItems = 4

// Agents end tasks, and the process is killed again and again while their items follow. Every acknowledged end reaches Task-Hub under
// one key, in order for each item, at most as often as it was attempted; each has one milestone.synced, which came with the end of its
// work, unless all attempts were broken off by kills.
func TestCrashWhileItemsFollow(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(crashItems)
	s := following
	s.Prepare = func(t testing.TB, dir string) {
		storetest.Copy(t, emptyLog, filepath.Join(dir, "log.db"))
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "hub"), []byte(h.URL), 0o600), os.WriteFile(filepath.Join(dir, "openclaw.json"), []byte(team), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var dir string
	var acked []string
	s.Check = func(t testing.TB, in string, all []string) {
		dir, acked = in, all
		l, err := openLog(filepath.Join(in, "log.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Verify(context.Background(), false, nil); err != nil {
			t.Errorf("verify what the kill has left: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Crash(t, s, crashRounds)
	o := reopen(t, filepath.Join(dir, "log.db"), h.URL, 0).begin()
	if err := o.idle(); err != nil {
		t.Fatal(err)
	}
	checkFollowed(t, o, h, acked)
}

// following has four agents' worth of tasks end, one after the other for each item.
var following = storetest.Scenario{
	Name: "items follow",
	Work: func(c *storetest.Child) error {
		address, err := os.ReadFile(filepath.Join(c.Dir, "hub"))
		if err != nil {
			return err
		}
		o, err := openAt(filepath.Join(c.Dir, "log.db"), string(address), filepath.Join(c.Dir, "openclaw.json"), patience)
		if err != nil {
			return err
		}
		o.begin()
		var asking sync.WaitGroup
		errs := make([]error, crashItems)
		for i := range crashItems {
			asking.Go(func() {
				for errs[i] == nil {
					var id string
					if id, errs[i] = o.endOne([]string{"eden", "seum"}[i%2], fmt.Sprint("i", i+1)); errs[i] == nil {
						c.Ack(id)
						errs[i] = o.idle()
					}
				}
			})
		}
		asking.Wait()
		return errors.Join(errs...)
	},
}

// endOne puts a task into a backlog that is linked to an item, and ends it.
func (o *fixture) endOne(agent, item string) (taskID string, err error) {
	a, _, err := o.call(agent, "", "task_backlog_add", fmt.Sprintf(`{"description":"x","milestone_id":"m1","milestone_item_id":%q}`, item))
	if err != nil {
		return "", err
	}
	b, _, err := o.call(agent, "", "task_cancel", fmt.Sprintf(`{"task_id":%q}`, a.text("taskId")))
	if err == nil && b["success"] != true {
		err = fmt.Errorf("task_cancel: %v", b)
	}
	return a.text("taskId"), err
}

// idle waits until nothing in the queue is to be done.
func (o *fixture) idle() error {
	ctx := context.Background()
	for {
		head, err := o.db.Head(ctx)
		if err != nil {
			return err
		}
		var left []workqueue.Lane
		if err := o.db.View(ctx, func(tx *sql.Tx) (err error) {
			left, err = workqueue.Lanes(ctx, tx)
			return err
		}); err != nil || !slices.ContainsFunc(left, func(l workqueue.Lane) bool { return l.Waiting+l.Leased > 0 }) {
			return err
		}
		if _, err := o.db.Wait(ctx, head.Seq+1); err != nil {
			return err
		}
	}
}

func checkFollowed(t *testing.T, o *fixture, h *hub, acked []string) {
	t.Helper()
	tasks := map[string]string{} // by effect id
	leased, synced := map[string]int{}, map[string]int{}
	dead := map[string]bool{}          // by effect id: each of its attempts was broken off by a kill
	scheduled := map[string][]string{} // effect ids by item, in order
	var after int64
	for {
		events, err := o.db.Read(t.Context(), after, sqlite.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			break
		}
		for i, e := range events {
			after = e.Seq
			switch e.Type {
			case coordination.TypeWorkScheduled:
				var what coordination.WorkScheduled
				if err := json.Unmarshal(e.Data, &what); err != nil {
					t.Fatal(err)
				}
				tasks[what.EffectID] = what.TaskID
				scheduled[what.Key] = append(scheduled[what.Key], what.EffectID)
			case coordination.TypeWorkLeased:
				leased[effectIn(t, e.Data)]++
			case coordination.TypeWorkDead:
				if !strings.Contains(string(e.Data), "broken off: restart") {
					t.Errorf("given up: %s", e.Data)
				}
				dead[effectIn(t, e.Data)] = true
			case coordination.TypeMilestoneSynced:
				if i > 0 && events[i-1].Type != coordination.TypeWorkCompleted {
					t.Errorf("%s came behind %s, want it behind the end of its work", e.Type, events[i-1].Type)
				}
				synced[strings.TrimPrefix(e.Stream, "task/")]++
			}
		}
	}
	told, firsts := map[string]int{}, map[string][]string{}
	for _, r := range h.asked() {
		if told[r.key]++; told[r.key] == 1 {
			key := "milestone/m1/" + r.what[strings.LastIndexByte(r.what, '/')+1:]
			firsts[key] = append(firsts[key], r.key)
		}
	}
	ended := map[string]bool{}
	for effect, task := range tasks {
		ended[task] = true
		if dead[effect] {
			if told[effect] > leased[effect] || synced[task] > 0 || leased[effect] < 3 {
				t.Errorf("%s was given up after %d attempts, reported %d times, and is synced %d times", effect, leased[effect], told[effect], synced[task])
			}
			continue
		}
		if told[effect] < 1 || told[effect] > leased[effect] || synced[task] != 1 {
			t.Errorf("%s was reported %d times, attempted %d times, and is synced %d times", effect, told[effect], leased[effect], synced[task])
		}
	}
	for _, id := range acked {
		if !ended[id] {
			t.Errorf("no item has followed %s, which was acknowledged", id)
		}
	}
	for key, want := range scheduled {
		want = slices.DeleteFunc(want, func(effect string) bool { return dead[effect] && told[effect] == 0 })
		if !slices.Equal(firsts[key], want) {
			t.Errorf("%s: told in the order %q, want %q", key, firsts[key], want)
		}
	}
	if len(tasks) == 0 || len(acked) == 0 {
		t.Errorf("%d items have followed, %d ends are acknowledged: nothing was tried", len(tasks), len(acked))
	}
}

func effectIn(t *testing.T, data []byte) string {
	t.Helper()
	var attempt coordination.WorkAttempt
	if err := json.Unmarshal(data, &attempt); err != nil {
		t.Fatal(err)
	}
	return attempt.EffectID
}
