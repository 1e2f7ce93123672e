package monitor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

const redactionsPath = "/api/redactions"

// redactTime limits a redaction request: it scans the whole log and the files of the state directory.
const redactTime = 15 * time.Minute

// Redactions redacts payloads in the log. Errors are *redaction.Refusal, or the log's.
type Redactions interface {
	// Find returns what an order would redact. It changes nothing.
	Find(ctx context.Context, o *redaction.Order) (*redaction.Plan, error)
	// Redact redacts, and returns what. The log is changed on disk when it returns; derived data follows.
	Redact(ctx context.Context, o *redaction.Order) (id string, plan *redaction.Plan, err error)
	// Progress returns the progress of a redaction running in this process.
	Progress(id string) (p redaction.Progress, ok bool)
}

const maxShownMatches = 1_000

// redact redacts payloads, or with dryRun lists them.
func (s *Server) redact(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	if s.opts.Redactions == nil {
		return &problem{Status: http.StatusConflict, Code: "not_here", Message: "Nothing is redacted here", Hint: "ask the server that writes the log"}
	}
	order, dryRun, err := orderIn(body)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(redactTime)) // a connection without deadlines blocks
	ctx := c.Request().Context()
	answer := redactions.Answer{OK: true, DryRun: dryRun}
	if dryRun {
		answer.Plan, err = s.opts.Redactions.Find(ctx, order)
	} else {
		var id string
		id, answer.Plan, err = s.opts.Redactions.Redact(context.WithoutCancel(ctx), order)
		if err == nil {
			answer.Redaction, err = s.redactionNow(context.WithoutCancel(ctx), id)
		}
	}
	if err != nil {
		return redactionProblem(err)
	}
	if answer.Redaction != nil {
		s.opts.Logger.Info("payloads redacted", "redaction", answer.Redaction.ID, "events", len(answer.Redaction.Seqs), "by", order.By)
	}
	answer.Count = len(answer.Matches)
	shown := *answer.Plan
	shown.Matches = shown.Matches[:min(len(shown.Matches), maxShownMatches)]
	answer.Plan = &shown
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

func orderIn(body map[string]any) (*redaction.Order, bool, error) {
	o := &redaction.Order{}
	var dryRun bool
	flags := map[string]*bool{"only": &o.Only, "dryRun": &dryRun}
	texts := map[string]*string{"text": &o.Text, "reason": &o.Reason, "by": &o.By}
	for field, value := range body {
		var ok bool
		switch {
		case flags[field] != nil:
			*flags[field], ok = value.(bool)
		case texts[field] != nil:
			*texts[field], ok = value.(string)
		case field == "seqs":
			o.Seqs, ok = seqsOf(value)
		case field == "ids":
			o.IDs, ok = stringsOf(value)
		default:
			return nil, false, badField(field, fmt.Sprintf("Unknown field %q", coordination.Beginning(field, maxField)),
				"remove it; allowed are seqs, ids or text, and reason, by, only, dryRun")
		}
		if !ok {
			return nil, false, badField(field, "Bad value for "+field, "seqs is a list of numbers, ids a list of strings; text, reason and by are strings; only and dryRun are booleans")
		}
	}
	by, err := personOf(o.By)
	o.By = by
	return o, dryRun, err
}

func seqsOf(value any) (seqs []int64, ok bool) {
	list, ok := value.([]any)
	for _, item := range list {
		n, isNumber := item.(float64)
		if !isNumber || n != float64(int64(n)) {
			return nil, false
		}
		seqs = append(seqs, int64(n))
	}
	return seqs, ok
}

func stringsOf(value any) (texts []string, ok bool) {
	list, ok := value.([]any)
	for _, item := range list {
		text, isText := item.(string)
		if !isText {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, ok
}

func redactionProblem(err error) error {
	refused, ok := errors.AsType[*redaction.Refusal](err)
	if !ok {
		return err
	}
	p := &problem{Status: http.StatusBadRequest, Code: refused.Reason, Message: refused.Text, Field: refused.Field, Hint: refused.HintText}
	switch {
	case refused.Unknown:
		p.Status = http.StatusNotFound
	case refused.NoRoom:
		p.Status = http.StatusInsufficientStorage
	}
	return p
}

// redactionsAnswer answers GET /api/redactions.
type redactionsAnswer struct {
	Redactions []redactions.Redaction `json:"redactions"`
	Count      int                    `json:"count"`
	AsOfSeq    int64                  `json:"asOfSeq"`
}

func (s *Server) listRedactions(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := redactions.Read(ctx, v.tx, "")
		if err != nil {
			return nil, err
		}
		slices.Reverse(list)
		list = list[:min(len(list), limit)]
		for i := range list {
			v.addProgress(&list[i])
		}
		return redactionsAnswer{list, len(list), v.asOf}, nil
	})
}

func (s *Server) showRedaction(c echo.Context) error {
	p := parametersOf(c)
	id := strings.TrimSpace(idOf(c))
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := redactions.Read(ctx, v.tx, id)
		if err != nil {
			return nil, err
		}
		if id == "" || len(list) == 0 {
			p := notFound(fmt.Sprintf("No redaction %q", coordination.Beginning(id, maxField)))
			p.Field, p.Hint = "id", "GET "+redactionsPath+" lists redactions"
			return nil, p
		}
		v.addProgress(&list[0])
		return list[0], nil
	})
}

func (v *view) addProgress(r *redactions.Redaction) {
	if v.Redactions == nil || v.then != nil || r.State != redactions.Pending {
		return
	}
	if p, ok := v.Redactions.Progress(r.ID); ok {
		r.Progress = &p
	}
}

func (s *Server) redactionNow(ctx context.Context, id string) (r *redactions.Redaction, err error) {
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		list, err := redactions.Read(ctx, tx, id)
		if err == nil && len(list) > 0 {
			r = &list[0]
		}
		return err
	})
	return r, err
}
