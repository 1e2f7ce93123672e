package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/causality"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/index"
)

const eventsPath = "/api/events"

// shownEvent answers GET /api/events/{seq}.
type shownEvent struct {
	Event   json.RawMessage `json:"event"` // as in GET /api/events
	Stored  storedEvent     `json:"stored"`
	IsError bool            `json:"isError"`
	Error   string          `json:"error,omitempty"` // the failure that the event reports, if it has words for it

	TaskTitle        string `json:"taskTitle,omitempty"`        // of the task that the event names, as it is now
	WorkSessionTitle string `json:"workSessionTitle,omitempty"` // of its work session, likewise

	Causes  []causality.Link `json:"causes"` // the direct cause first, the root cause last
	Effects []causality.Link `json:"effects"`
	AsOfSeq int64            `json:"asOfSeq"`
}

// storedEvent is an event as the log has it, without its payload.
type storedEvent struct {
	eventstore.Envelope
	Hash eventstore.Hash `json:"hash"`
}

func (s *Server) showEvent(c echo.Context) error {
	p := parametersOf(c)
	text := idOf(c)
	if text == "" {
		return notFound("Not found")
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seq < 1 {
		return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "seq", Value: coordination.Beginning(text, maxField),
			Message: fmt.Sprintf("Bad seq %.80q", text), Hint: "give the number of an event, from 1"}
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) { return v.showEvent(ctx, seq) })
}

func (v *view) showEvent(ctx context.Context, seq int64) (*shownEvent, error) {
	if seq > v.asOf {
		return nil, missingEvent(seq, v.asOf)
	}
	events, err := v.fetch(ctx, []int64{seq})
	if err != nil {
		return nil, err
	}
	e := events[seq]
	if e == nil {
		return nil, missingEvent(seq, v.asOf)
	}
	entries, err := index.Entries(ctx, v.tx, []int64{seq})
	if err != nil {
		return nil, err
	}
	a := &shownEvent{Event: v.renderEvent(e, entries[seq]), AsOfSeq: v.asOf, Stored: storedEvent{e.Envelope(), e.Hash}}
	record := projections.Record(coordination.RulesV2, e)
	why, failed := coordination.Failure(&record)
	if a.IsError = failed; failed {
		a.Error = coordination.ForPeople(coordination.Mask(why), v.roster).Text
	}
	if err := v.nameSubjects(ctx, a, &record); err != nil {
		return nil, err
	}
	causes, err := causality.Causes(ctx, v.tx, v.Store, e)
	if err != nil {
		return nil, err
	}
	effects, err := causality.Effects(ctx, v.tx, e)
	a.Causes, a.Effects = listOf(causes), listOf(effects)
	return a, err
}

// nameSubjects adds the titles of the task and the work session of an event.
func (v *view) nameSubjects(ctx context.Context, a *shownEvent, r *coordination.Record) error {
	if r.TaskID != "" {
		a.TaskTitle = v.titleOf(r.TaskID)
	}
	if r.WorkSessionID == "" {
		return nil
	}
	title, task, err := conversations.Title(ctx, v.tx, r.WorkSessionID)
	a.WorkSessionTitle = cmp.Or(coordination.TaskTitle(task, v.roster), title)
	return err
}

func missingEvent(seq, end int64) *problem {
	p := notFound(fmt.Sprintf("Event %d does not exist", seq))
	p.Field, p.Value, p.Hint = "seq", strconv.FormatInt(seq, 10), fmt.Sprintf("the log ends at %d", end)
	return p
}
