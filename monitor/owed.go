package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections/owed"
)

const (
	owedPath    = "/api/owed"
	maxOwedText = 300 // characters of what was asked
)

// owedAnswer answers GET /api/owed.
type owedAnswer struct {
	Owed       []owed.Item `json:"owed"`
	Count      int         `json:"count"`
	Total      int         `json:"total"`   // open ones that match, regardless of limit
	Overdue    int         `json:"overdue"` // of these
	Cancelable bool        `json:"cancelable"`
	AsOfSeq    int64       `json:"asOfSeq"`
}

// listOwed lists answers that are owed.
func (s *Server) listOwed(c echo.Context) error {
	p := parametersOf(c)
	q := owed.Query{From: p.agent("from"), To: p.agent("to"), Limit: p.limit()}
	var known []string
	for _, kind := range owed.Kinds() {
		known = append(known, string(kind))
	}
	for _, kind := range p.words("kind", known...) {
		q.Kinds = append(q.Kinds, owed.Kind(kind))
	}
	q.Ended = p.choice("open", "true", "false") == "false"
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		q.Now, q.Reminders = int64(v.now), v.Reminders
		found, err := owed.Read(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		if err := v.readTitles(ctx, tasksOf(found.Items)); err != nil {
			return nil, err
		}
		for i := range found.Items {
			item := &found.Items[i]
			if item.Refs.Task != "" {
				item.TaskTitle = v.titleOf(item.Refs.Task)
			}
			item.Text = coordination.LineForPeople(v.wording().Text(coordination.Mask(item.Text)), v.roster, maxOwedText)
			if r := &item.Refs; r.PlaceID != "" {
				r.Channel = coordination.ChannelOf(r.PlaceID)
				r.Link = v.wording().link(r.GuildID, r.PlaceID, r.MessageID)
			}
		}
		return owedAnswer{Owed: found.Items, Count: len(found.Items), Total: found.Total, Overdue: found.Overdue, Cancelable: v.Flows != nil,
			AsOfSeq: v.asOf}, nil
	})
}

func tasksOf(items []owed.Item) (ids []string) {
	for i := range items {
		if id := items[i].Refs.Task; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// schedule adds when a request is followed up.
func (v *view) schedule(a *CollaborationAnswer, r *response.Request) {
	if v.Reminders == nil {
		return
	}
	if next, _, steps := r.Schedule(v.Reminders(r.ThreadID)); steps > 0 {
		a.NextStepAt, a.Steps = &next, steps
	}
}
