package monitor

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Limits of one frame with events. Our additions make an event about three times as large at most.
const (
	frameEvents = 100
	frameBytes  = 192 << 10 // of payloads; a larger event has its own frame
)

// logName is the file the original names when its log has grown.
const logName = "coordination-events.ndjson"

// feed formats the log for /ws.
type feed struct{ opts Options }

func newFeed(opts Options) *feed {
	opts.MaxBytes = frameBytes
	return &feed{opts}
}

// Wait implements push.Log.
func (f *feed) Wait(ctx context.Context, seq int64) (int64, error) {
	return f.opts.Store.Wait(ctx, seq)
}

// Page implements push.Log. Events are rendered from the same tables as in REST. A panic becomes this call's error.
func (f *feed) Page(ctx context.Context, after, upTo int64) (page *push.Page, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	seqs := make([]int64, min(upTo-after, frameEvents))
	for i := range seqs {
		seqs[i] = after + 1 + int64(i)
	}
	err = f.opts.Store.View(ctx, func(tx *sql.Tx) (err error) {
		v := &view{Options: &f.opts, tx: tx}
		if v.roster, err = index.Roster(ctx, tx); err != nil {
			return err
		}
		events, err := v.fetch(ctx, seqs)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return fmt.Errorf("no event follows %d, though the log reaches %d", after, upTo)
		}
		entries, err := index.Entries(ctx, tx, seqs[:len(events)])
		if err != nil {
			return err
		}
		news, err := v.taskNews(ctx, seqs[:len(events)], events)
		if err != nil {
			return err
		}
		asked, err := v.collaborationNews(ctx, seqs[:len(events)], events)
		approvals, err := v.approvalNews(ctx, seqs[:len(events)], events)
		page = v.page(seqs[:len(events)], events, entries, append(news, asked...), approvals)
		return err
	})
	return page, err
}

// page formats events, first for all clients, then including internal ones. Hints follow the events.
// later are the hints that only clients with topics get.
func (v *view) page(seqs []int64, events map[int64]*eventstore.Event, entries map[int64]*index.Entry, hints, later []push.Message) *push.Page {
	var public, full feedBatch
	for _, seq := range seqs {
		e := events[seq]
		if e == nil {
			continue
		}
		t := feedEvent{Event: e, entry: entries[seq], record: v.record(e), text: v.renderEvent(e, entries[seq])}
		full = append(full, t)
		later = append(later, changeNews(e)...)
		if internal(e) {
			hints = t.hint(hints)
		} else {
			public = append(public, t)
		}
	}
	page := &push.Page{Seq: last(seqs), Public: append(public.messages(), hints...)}
	if len(public) < len(full) {
		page.Full = append(full.messages(), hints...)
	}
	chosen := choice{view: v, public: public, full: full, hints: append(slices.Clip(hints), later...)}
	page.Chosen = chosen.messages
	return page
}

// internal reports whether an event is internal book-keeping, which is only sent on request.
func internal(e *eventstore.Event) bool {
	return e.Actor != eventstore.ActorImport && coordination.Internal(e.Type)
}

type feedEvent struct {
	*eventstore.Event
	entry  *index.Entry // nil: not indexed yet
	record coordination.Record
	text   json.RawMessage
}

type feedBatch []feedEvent

// messages are the frames of a run: the events, and an update if the last one continues something.
func (t feedBatch) messages() []push.Message {
	return t.messagesWith(func(e *feedEvent) []byte { return e.text })
}

func (t feedBatch) messagesWith(text func(*feedEvent) []byte) (list []push.Message) {
	if len(t) == 0 {
		return nil
	}
	latest, texts := t[len(t)-1], t.texts(text)
	o := newObject(len(texts) + 512)
	o.raw("events", texts)
	o.raw("affectedWorkSessions", t.workSessions())
	o.integer("seq", latest.Seq)
	list = append(list, push.Message{Type: "coordination_event_new", Data: json.RawMessage(o.end())})
	if strings.HasPrefix(latest.Type, "continuation.") {
		data := text(&latest)
		o := newObject(len(data) + 256)
		o.text("event", "change")
		o.text("file", logName)
		o.text("eventType", latest.Type)
		o.raw("eventData", data)
		list = append(list, push.Message{Type: "continuation_event", AgentID: latest.AgentID, Data: json.RawMessage(o.end())})
	}
	return list
}

func (t feedBatch) texts(text func(*feedEvent) []byte) []byte {
	list := []byte{'['}
	for i := range t {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, text(&t[i])...)
	}
	return append(list, ']')
}

// workSessions lists a run's work sessions in order of appearance.
func (t feedBatch) workSessions() []byte {
	var names []string
	for i := range t {
		if name := t[i].record.WorkSessionID; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	list := []byte{'['}
	for i, name := range names {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendString(list, name)
	}
	return append(list, ']')
}

// hint adds what an internal event changes in REST answers, so that clients can refresh.
func (t feedEvent) hint(hints []push.Message) []push.Message {
	o := newObject(256)
	switch t.Type {
	case coordination.TypeWorkSessionCategorySet, coordination.TypeWorkSessionCategoryCleared:
		o.text("event", strings.TrimPrefix(t.Type, "work_session."))
		o.text("workSessionId", t.record.WorkSessionID)
		o.integer("seq", t.Seq)
		return append(hints, push.Message{Type: "work_session_update", Data: json.RawMessage(o.end())})
	case coordination.TypeConfigApplied:
		o.text("event", "applied")
		o.integer("seq", t.Seq)
		return append(hints, push.Message{Type: "config_update", Data: json.RawMessage(o.end())})
	}
	return hints
}
