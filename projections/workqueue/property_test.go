package workqueue_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// model is the queue, kept as simply as can be.
type model struct {
	asked map[string]bool
	keys  map[string][]*workqueue.Item
	dead  map[string]*workqueue.Item
}

// fold is what an event of an effect does to it.
func (m *model) fold(a eventstore.StreamAppend, effectID string) {
	e := a.Events[0]
	c, ok := work.Of(e.Type, e.AgentID, e.Data)
	if !ok {
		return
	}
	if c.Step == work.Add {
		if m.asked[effectID] {
			return
		}
		n := c.New
		i := &workqueue.Item{EffectID: effectID, Kind: n.Kind, Key: n.Key, Pool: n.Pool, Owner: n.Owner, State: workqueue.Waiting, Since: e.TS, DueAt: n.DueAt, Most: n.Most}
		at := len(m.keys[n.Key])
		if n.First {
			at = 0
			if at < len(m.keys[n.Key]) && m.keys[n.Key][0].State == workqueue.Leased {
				at = 1
			}
		}
		m.keys[n.Key] = slices.Insert(m.keys[n.Key], at, i)
		return
	}
	if i := m.dead[effectID]; i != nil {
		switch c.Step {
		case work.Remove:
			delete(m.dead, effectID)
		case work.Resend:
			delete(m.dead, effectID)
			i.State, i.DueAt, i.Attempt, i.Error = workqueue.Waiting, 0, 0, ""
			m.keys[i.Key] = append(m.keys[i.Key], i)
		}
		return
	}
	for key, items := range m.keys {
		for at, i := range items {
			if i.EffectID != effectID {
				continue
			}
			switch c.Step {
			case work.Lease:
				if at == 0 && i.State == workqueue.Waiting {
					i.State, i.LeaseUntil = workqueue.Leased, c.Until
					i.Attempt++
				}
			case work.Return:
				i.State, i.LeaseUntil, i.DueAt, i.Error = workqueue.Waiting, 0, c.DueAt, c.Error
			case work.Remove:
				m.keys[key] = slices.Delete(items, at, at+1)
			case work.Park:
				m.keys[key] = slices.Delete(items, at, at+1)
				i.State, i.LeaseUntil, i.Error = workqueue.Dead, 0, c.Error
				m.dead[effectID] = i
			}
			return
		}
	}
}

// lines describes the model as tables does a log.
func (m *model) lines() (lines []string) {
	lanes := map[string]*[3]int{}
	count := func(i *workqueue.Item) {
		name := fmt.Sprint(i.Pool, "/", i.Owner, "/", i.Kind)
		if lanes[name] == nil {
			lanes[name] = &[3]int{}
		}
		lanes[name][slices.Index([]workqueue.State{workqueue.Waiting, workqueue.Leased, workqueue.Dead}, i.State)]++
	}
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		items := m.keys[key]
		if len(items) == 0 {
			continue
		}
		var s workqueue.KeyState
		for _, i := range items {
			count(i)
			lines = append(lines, describe(i))
			switch {
			case i.State == workqueue.Leased:
				s.Leased++
			default:
				if s.Waiting++; s.Waiting == 1 {
					s.Since = i.Since
				}
			}
		}
		ready := fmt.Sprint(items[0].DueAt)
		if s.Leased > 0 {
			ready = "busy"
		}
		lines = append(lines, fmt.Sprintf("key %s: %+v, %s %s %s, %s", key, s, items[0].Pool, items[0].Owner, items[0].Kind, ready))
	}
	for _, id := range slices.Sorted(maps.Keys(m.dead)) {
		count(m.dead[id])
		lines = append(lines, describe(m.dead[id]))
	}
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		lines = append(lines, fmt.Sprint(name, lanes[name][:]))
	}
	return lines
}

func describe(i *workqueue.Item) string {
	j := *i
	j.Seq = 0
	return fmt.Sprintf("%+v", j)
}

// tables reads the rows along the lists, and backwards as well.
func (l *log) tables(t *rapid.T) (lines []string) {
	err := l.View(context.Background(), func(tx *sql.Tx) error {
		type row struct{ stream, before, after string }
		rows := map[string]row{}
		byStream := map[string]workqueue.Item{}
		ctx := context.Background()
		if err := texts(ctx, tx, "SELECT stream, before, after FROM work", func(s []string) error {
			rows[s[0]] = row{s[0], s[1], s[2]}
			return nil
		}); err != nil {
			return err
		}
		items, err := workqueue.List(ctx, tx, workqueue.Query{})
		if err != nil {
			return err
		}
		for _, i := range items {
			byStream[work.Stream(i.EffectID)] = i
		}
		dead := map[string]string{}
		for stream, i := range byStream {
			if i.State == workqueue.Dead {
				dead[i.EffectID] = describe(&i)
				if r := rows[stream]; r.before != "" || r.after != "" {
					return fmt.Errorf("dead %s is linked: %+v", i.EffectID, r)
				}
			}
		}
		linked := 0
		if err := texts(ctx, tx, `SELECT first, last, format('key %s: {Waiting:%d Leased:%d Since:%d}, %s %s %s, %s', key, waiting, leased, since, pool, owner,
 kind, coalesce(ready_at, 'busy')) FROM work_keys ORDER BY key`, func(s []string) error {
			last := ""
			for stream := s[0]; stream != ""; stream = rows[stream].after {
				i := byStream[stream]
				lines = append(lines, describe(&i))
				if rows[stream].before != last {
					return fmt.Errorf("%s is behind %q, but says behind %q", stream, last, rows[stream].before)
				}
				last = stream
				linked++
			}
			if last != s[1] {
				return fmt.Errorf("the last is %q, but the key says %q", last, s[1])
			}
			lines = append(lines, s[2])
			return nil
		}); err != nil {
			return err
		}
		if linked+len(dead) != len(items) {
			return fmt.Errorf("%d are linked, %d dead, %d in all", linked, len(dead), len(items))
		}
		for _, id := range slices.Sorted(maps.Keys(dead)) {
			lines = append(lines, dead[id])
		}
		return texts(ctx, tx, "SELECT format('%s/%s/%s[%d %d %d]', pool, owner, kind, waiting, leased, dead), '', '' FROM work_lanes ORDER BY pool||'/'||owner||'/'||kind",
			func(s []string) error {
				lines = append(lines, s[0])
				return nil
			})
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// drawn is any event of any effect, sensible or not.
type drawn struct {
	effectID string
	append   eventstore.StreamAppend
}

func drawEvent(t *rapid.T) drawn {
	n := rapid.IntRange(0, 14).Draw(t, "effect")
	key, owner, pool := fmt.Sprint("agent:eden:k", n%3), []string{"", "a", "b"}[n%4%3], []string{"main", "q"}[n%5%2]
	due := rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "due")
	id := fmt.Sprint("e", n)
	if n > 11 {
		id = fmt.Sprint("job/j ", n)
		typ := rapid.SampledFrom([]string{coordination.TypeA2AJobCreated, coordination.TypeA2AJobCreated, coordination.TypeA2AJobRunning, coordination.TypeA2AJobRunning,
			coordination.TypeA2AJobResumed, coordination.TypeA2AJobCompleted, coordination.TypeA2AJobCancelled, coordination.TypeWorkLeased,
			coordination.TypeWorkLeaseExpired, coordination.TypeWorkDead, coordination.TypeWorkResent}).Draw(t, "type")
		return drawn{id, event(id, typ, fmt.Sprintf(`"jobId":"j %d","toAgent":%q,"dueAtMs":%d,"leaseUntilMs":9`, n, owner, due))}
	}
	if n < 6 {
		id = fmt.Sprint("run/r ", n)
		typ := rapid.SampledFrom([]string{coordination.TypeRunQueued, coordination.TypeRunQueued, coordination.TypeRunStarted, coordination.TypeRunStarted,
			coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut, coordination.TypeWorkDead,
			coordination.TypeWorkResent}).Draw(t, "type")
		retry := rapid.SampledFrom([]string{"", `,"retryOf":"r"`}).Draw(t, "retry")
		return drawn{id, event(id, typ, fmt.Sprintf(`"runId":"r %d","sessionKey":%q,"lane":%q,"leaseUntilMs":%d%s`, n, key, pool, due, retry))}
	}
	typ := rapid.SampledFrom([]string{coordination.TypeWorkScheduled, coordination.TypeWorkScheduled, coordination.TypeWorkLeased, coordination.TypeWorkLeased,
		coordination.TypeWorkReleased, coordination.TypeWorkLeaseExpired, coordination.TypeWorkCompleted, coordination.TypeWorkCancelled, coordination.TypeWorkDead,
		coordination.TypeWorkResent}).Draw(t, "type")
	return drawn{id, event(id, typ, fmt.Sprintf(`"effectId":%q,"kind":"k%d","key":%q,"pool":%q,"owner":%q,"dueAtMs":%d,"leaseUntilMs":9,"error":"x"`,
		id, n%2, key, pool, owner, due))}
}

// Whatever happens, the tables are as a simple model has them, however the events were cut into batches, and the same after a rebuild.
func TestTablesAreAsTheModelHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l := openAt(t, emptyAt(t, dir))
		defer func() { l.close(t) }()
		m := &model{map[string]bool{}, map[string][]*workqueue.Item{}, map[string]*workqueue.Item{}}
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 120).Draw(rt, "events")
		for rest := events; len(rest) > 0; {
			n := min(rapid.IntRange(1, 12).Draw(rt, "batch"), len(rest))
			var appends []eventstore.StreamAppend
			for _, d := range rest[:n] {
				appends = append(appends, d.append)
				m.fold(d.append, d.effectID)
				m.asked[d.effectID] = true // whatever came first in the stream
			}
			l.append(t, appends...)
			rest = rest[n:]
			if diff := gocmp.Diff(m.lines(), l.tables(rt)); diff != "" {
				rt.Fatalf("after %d of %d, -want +got:\n%s", len(events)-len(rest), len(events), diff)
			}
		}
		left := l.dump(t)
		if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(l.dump(t), left); diff != "" {
			rt.Fatalf("tables differ from rebuilt ones (-rebuilt +left):\n%s", diff)
		}
	})
}

// No owner whose first item is ready is passed over for one with more leased items.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l := openAt(t, emptyAt(t, dir))
		defer func() { l.close(t) }()
		waiting := map[string]int{}
		var appends []eventstore.StreamAppend
		for n := range rapid.IntRange(1, 40).Draw(rt, "items") {
			owner := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "owner")
			waiting[owner]++
			appends = append(appends, ask(fmt.Sprint("e", n), fmt.Sprint("k", n), owner, 0))
		}
		l.append(t, appends...)
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		got := map[string]int{}
		for _, i := range decide(t, l, func(tx eventstore.Tx) ([]workqueue.Item, error) { return workqueue.Ready(tx, "p", 1, limit) }) {
			got[i.Owner]++
		}
		total := 0
		for a := range waiting {
			total += got[a]
			for b := range waiting {
				if got[a] < waiting[a] && got[b] > got[a]+1 {
					rt.Fatalf("%v of %v: %q has more than %q, which waits", got, waiting, b, a)
				}
			}
		}
		if total != min(limit, len(appends)) {
			rt.Fatalf("%d of %d, at most %d", total, len(appends), limit)
		}
	})
}
