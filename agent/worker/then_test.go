package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// aftermath is the stream of what follows from the ends of work.
const aftermath = "aftermath"

// notes is a Then that says of each end, in the stream aftermath, what it is told.
func notes(_ eventstore.Tx, end worker.Ended, now time.Time) ([]eventstore.StreamAppend, error) {
	payload := "redacted"
	if end.What != nil {
		payload = string(end.What.Payload)
	}
	text, err := json.Marshal(map[string]string{
		"says": fmt.Sprintf("%s of %s, attempt %d, asked for %s: %q %s", end.EffectID, end.Owner, end.Attempt, payload, end.Error, end.Result)})
	if err != nil {
		return nil, err
	}
	return []eventstore.StreamAppend{{Stream: aftermath, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: "some.thing", Data: text}.WithTS(now.UnixMilli())}}}, nil
}

// said lists what notes have said, and checks that each was stored right behind the end that it is about.
func (l *log) said(t *testing.T) (list []string) {
	t.Helper()
	all, err := l.Read(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range all {
		if e.Stream != aftermath {
			continue
		}
		var data struct{ Says string }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(data.Says, " ")
		before := all[i-1]
		change, _ := work.Of(before.Type, before.AgentID, before.Data)
		if before.Stream != work.Stream(id) || change.Step != work.Remove && change.Step != work.Park || before.RecordedAt != e.RecordedAt {
			t.Errorf("%q stands behind %s of %s, not behind the end that it is about", data.Says, before.Type, before.Stream)
		}
		list = append(list, data.Says)
	}
	return list
}

// What follows from the end of work is stored with it: when it is done, and when it is given up, whatever the reason. Nothing follows from an
// attempt that is not the last.
func TestConsequencesAreStoredWithTheEnd(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, c := range map[string]struct {
		policy        worker.Policy
		do            func(ctx context.Context, item workqueue.Item) (json.RawMessage, error)
		history, said []string
	}{
		"done": {do: func(context.Context, workqueue.Item) (json.RawMessage, error) {
			return json.RawMessage(`{"id":1}`), nil
		},
			history: []string{"scheduled", "leased", "completed"}, said: []string{`e of eden, attempt 1, asked for {"to":"x"}: "" {"id":1}`}},
		"done, with a result that is not kept": {do: func(context.Context, workqueue.Item) (json.RawMessage, error) { return json.RawMessage(`[]`), nil },
			history: []string{"scheduled", "leased", "completed its result was not kept: it is no JSON object, or larger than 64 KiB"},
			said:    []string{`e of eden, attempt 1, asked for {"to":"x"}: "" `}},
		"the third time": {do: func(_ context.Context, item workqueue.Item) (json.RawMessage, error) {
			if item.Attempt < 3 {
				return nil, no
			}
			return nil, nil
		}, history: []string{"scheduled", "leased", "released no in 1s", "leased", "released no in 2s", "leased", "completed"},
			said: []string{`e of eden, attempt 3, asked for {"to":"x"}: "" `}},
		"never": {policy: worker.Policy{MaxAttempts: 2}, do: func(context.Context, workqueue.Item) (json.RawMessage, error) { return nil, no },
			history: []string{"scheduled", "leased", "released no in 1s", "leased", "dead no"},
			said:    []string{`e of eden, attempt 2, asked for {"to":"x"}: "no" `}},
		"for good, without a word": {do: func(context.Context, workqueue.Item) (json.RawMessage, error) {
			return nil, worker.Permanent(errors.New(""))
		},
			history: []string{"scheduled", "leased", "dead"}, said: []string{`e of eden, attempt 1, asked for {"to":"x"}: "it does not say why" `}},
		"panics": {policy: worker.Policy{MaxAttempts: 2}, do: func(context.Context, workqueue.Item) (json.RawMessage, error) { panic("on purpose") },
			history: []string{"scheduled", "leased", "lease_expired lease in 1s", "leased", "dead lease the last attempt was broken off: lease"},
			said:    []string{`e of eden, attempt 2, asked for {"to":"x"}: "the last attempt was broken off: lease" `}},
		"too slow": {policy: worker.Policy{MaxAttempts: 1, Timeout: time.Minute}, do: func(ctx context.Context, _ workqueue.Item) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, no
		}, history: []string{"scheduled", "leased", "dead it took longer than 1m0s: no"},
			said: []string{`e of eden, attempt 1, asked for {"to":"x"}: "it took longer than 1m0s: no" `}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				c.policy.Then = notes
				h := l.start(t, worker.Options{Handlers: kinds(worker.Task(c.policy,
					func(ctx context.Context, item workqueue.Item, _ *coordination.WorkScheduled) (json.RawMessage, error) {
						return c.do(ctx, item)
					}))})
				w := effect("e", "a")
				w.Payload = json.RawMessage(`{"to":"x"}`)
				l.ask(t, w)
				pass(time.Hour)
				synctest.Wait()
				h.end(t)
				if got := l.history(t, "e"); !slices.Equal(got, c.history) {
					t.Errorf("history:\n%q, want\n%q", got, c.history)
				}
				if diff := cmp.Diff(c.said, l.said(t)); diff != "" {
					t.Errorf("said, -want +got:\n%s", diff)
				}
			})
		})
	}
}

// Whatever is wrong with what follows, the item ends, once, and without it.
func TestConsequencesDoNotDelayEnds(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(eventstore.Tx, worker.Ended, time.Time) ([]eventstore.StreamAppend, error){
		"an error": func(tx eventstore.Tx, end worker.Ended, now time.Time) ([]eventstore.StreamAppend, error) {
			appends, _ := notes(tx, end, now)
			return appends, errors.New("no")
		},
		"a panic": func(eventstore.Tx, worker.Ended, time.Time) ([]eventstore.StreamAppend, error) { panic("on purpose") },
		"what cannot be stored": func(eventstore.Tx, worker.Ended, time.Time) ([]eventstore.StreamAppend, error) {
			return []eventstore.StreamAppend{{Stream: aftermath, Events: []eventstore.NewEvent{{Type: " ", Data: json.RawMessage(`{}`)}}}}, nil
		},
		"what conflicts": func(_ eventstore.Tx, end worker.Ended, _ time.Time) ([]eventstore.StreamAppend, error) {
			return []eventstore.StreamAppend{{Stream: work.Stream("done"), Expect: eventstore.NoStream(),
				Events: []eventstore.NewEvent{{Type: "some.thing", Data: json.RawMessage(`{}`)}}}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *log) {
				h := l.start(t, worker.Options{Handlers: task(worker.Policy{MaxAttempts: 1, Then: then}, func(_ context.Context, item workqueue.Item) error {
					switch item.EffectID {
					case "failed":
						return errors.New("no")
					case "lost":
						panic("on purpose")
					}
					return nil
				})})
				l.ask(t, effect("done", "a"), effect("failed", "b"), effect("lost", "c"), effect("behind", "c"))
				pass(time.Hour)
				synctest.Wait()
				h.end(t)
				for id, want := range map[string]string{"done": "completed", "failed": "dead", "lost": "dead", "behind": "completed"} {
					got := l.history(t, id)
					if len(got) != 3 || !strings.HasPrefix(got[2], want) {
						t.Errorf("history of %s: %q, want one end, %s", id, got, want)
					}
				}
				if got := l.said(t); got != nil {
					t.Errorf("said: %q", got)
				}
				if n := h.logged.count("skipped"); n < 3 {
					t.Errorf("logged %d times that something is left out, want it of each", n)
				}
			})
		})
	}
}

// What was redacted meanwhile ends with a Then that is told so.
func TestConsequencesOfRedactedItems(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{Then: notes}, func(_ context.Context, item workqueue.Item) error {
			return l.Redact(context.Background(), item.Seq)
		})})
		w := effect("e", "a")
		w.Payload = json.RawMessage(`{"to":"x"}`)
		l.ask(t, w)
		pass(time.Minute)
		synctest.Wait()
		h.end(t)
		if diff := cmp.Diff([]string{`e of eden, attempt 1, asked for redacted: "" `}, l.said(t)); diff != "" {
			t.Errorf("said, -want +got:\n%s", diff)
		}
	})
}

// What was given up may be done after all: then both ends have what follows from them. What is cancelled has none.
func TestConsequencesOfResentItems(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *log) {
		var fixed atomic.Bool
		h := l.start(t, worker.Options{Handlers: task(worker.Policy{MaxAttempts: 1, Then: notes}, func(context.Context, workqueue.Item) error {
			if fixed.Load() {
				return nil
			}
			return errors.New("no")
		})})
		l.ask(t, effect("e", "a"), effect("other", "b"))
		pass(time.Minute)
		synctest.Wait()
		fixed.Store(true)
		if err := errors.Join(h.Resend(t.Context(), "e", "cli"), h.Cancel(t.Context(), "other", "cli")); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		synctest.Wait()
		h.end(t)
		said := l.said(t)
		slices.Sort(said)
		want := []string{`e of eden, attempt 1, asked for : "" `, `e of eden, attempt 1, asked for : "no" `, `other of eden, attempt 1, asked for : "no" `}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("said, -want +got:\n%s", diff)
		}
	})
}

// What a process has left at its last attempt is given up by the next one, with what follows from that; at an attempt before it is tried again.
func TestConsequencesOfInterruptedItems(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{
		1: `e of eden, attempt 1, asked for : "the last attempt was broken off: restart" `,
		2: `e of eden, attempt 2, asked for : "" `,
	} {
		inBubble(t, func(t *testing.T, l *log) {
			l.ask(t, effect("e", "a"))
			if _, err := l.Append(t.Context(), one("e", coordination.TypeWorkLeased, `{"attempt":1}`)...); err != nil {
				t.Fatal(err)
			}
			h := l.start(t, worker.Options{Handlers: task(worker.Policy{MaxAttempts: most, Then: notes}, func(context.Context, workqueue.Item) error { return nil })})
			pass(time.Minute)
			synctest.Wait()
			h.end(t)
			if diff := cmp.Diff([]string{want}, l.said(t)); diff != "" {
				t.Errorf("at most %d attempts: said, -want +got:\n%s", most, diff)
			}
		})
	}
}
