package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
)

const redactionsPath = "/api/redactions"

// redactTime is how long an order may take to be answered: all of a log is looked through, and the files of a state directory.
const redactTime = 15 * time.Minute

// Redactions is where operators have the log forget payloads. Errors are *RedactionError, or the log's.
type Redactions interface {
	// Find says what an order would blank. Nothing happens.
	Find(ctx context.Context, o *RedactionOrder) (*RedactionPlan, error)
	// Redact blanks, and says what. It is on disk when Redact returns; what was made of the payloads forgets them after that.
	Redact(ctx context.Context, o *RedactionOrder) (id string, plan *RedactionPlan, err error)
	// Progress is how far a redaction is that is under way in this process.
	Progress(id string) (p RedactionProgress, ok bool)
}

// RedactionOrder is what an operator wants forgotten: the payloads of the events that Seqs and IDs name or, where both are empty, of those that hold Text.
type RedactionOrder struct {
	Seqs   []int64  `json:"seqs,omitempty"`
	IDs    []string `json:"ids,omitempty"`
	Text   string   `json:"text,omitempty"`
	Only   bool     `json:"only,omitempty"` // the events that are named, and not those that repeat their texts
	Reason string   `json:"reason,omitempty"`
	By     string   `json:"by,omitempty"` // a name that nobody has proved
}

// RedactionMatch is an event whose payload goes.
type RedactionMatch struct {
	Seq     int64  `json:"seq"`
	Type    string `json:"type"`
	AgentID string `json:"agentId"`
	Field   string `json:"field"` // in which the text stands; "" of one that was named
	Named   bool   `json:"named"` // by the order itself; else it repeats a text
}

// RedactionRefused is an event that holds a text and cannot be blanked.
type RedactionRefused struct {
	Seq  int64  `json:"seq"`
	Type string `json:"type"`
	Why  string `json:"why"`
}

// RedactionPlan is what an order leads to. It holds no text.
type RedactionPlan struct {
	Matches []RedactionMatch              `json:"matches"` // by seq
	Refused []RedactionRefused            `json:"refused"`
	Kept    []coordination.RedactionTrace `json:"kept"` // what holds the texts too, or may, and is not ours to change
	Seq     int64                         `json:"seq"`  // events up to this one were looked at
}

// RedactionProgress is how far a redaction is.
type RedactionProgress struct {
	Step  string `json:"step"` // archives, projections, search, lines, files, space, end
	Done  int64  `json:"done"`
	Total int64  `json:"total"`           // 0 where nobody knows
	Error string `json:"error,omitempty"` // why it does not go on; it is tried again
}

// RedactionError says why nothing is redacted.
type RedactionError struct {
	Reason, Field, Text, Mend string
	Unknown                   bool // there is no such event
	NoRoom                    bool // the disk has too little room for what has to be written anew
}

func (e *RedactionError) Error() string { return e.Text }
func (e *RedactionError) Code() string  { return e.Reason }
func (e *RedactionError) Hint() string  { return e.Mend }

// maxShownMatches bounds what one answer lists.
const maxShownMatches = 1_000

// redactionAnswer answers POST /api/redactions.
type redactionAnswer struct {
	OK     bool `json:"ok"`
	DryRun bool `json:"dryRun"`
	*RedactionPlan
	Count     int        `json:"count"` // of matches, also of those that are not listed
	Redaction *Redaction `json:"redaction,omitempty"`
}

// redact has payloads blanked, or says which ones that would be.
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
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(redactTime)) // one that has no deadlines waits
	ctx := c.Request().Context()
	answer := redactionAnswer{OK: true, DryRun: dryRun}
	if dryRun {
		answer.RedactionPlan, err = s.opts.Redactions.Find(ctx, order)
	} else {
		var id string
		id, answer.RedactionPlan, err = s.opts.Redactions.Redact(context.WithoutCancel(ctx), order)
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
	shown := *answer.RedactionPlan
	shown.Matches = shown.Matches[:min(len(shown.Matches), maxShownMatches)]
	answer.RedactionPlan = &shown
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

// orderIn reads an order.
func orderIn(body map[string]any) (*RedactionOrder, bool, error) {
	o := &RedactionOrder{}
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
			return nil, false, badField(field, fmt.Sprintf("There is no field %q", beginning(field, maxField)),
				"leave it away; say seqs, ids or text, and reason, by, only, dryRun")
		}
		if !ok {
			return nil, false, badField(field, "Bad value for "+field, "seqs is a list of numbers, ids of texts; text, reason and by are texts; only and dryRun true or false")
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

// redactionProblem gives the refusal of an order its status.
func redactionProblem(err error) error {
	refused, ok := errors.AsType[*RedactionError](err)
	if !ok {
		return err
	}
	p := &problem{Status: http.StatusBadRequest, Code: refused.Reason, Message: refused.Text, Field: refused.Field, Hint: refused.Mend}
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
	Redactions []Redaction `json:"redactions"`
	Count      int         `json:"count"`
	AsOfSeq    int64       `json:"asOfSeq"`
}

// listRedactions lists redactions, the newest first.
func (s *Server) listRedactions(c echo.Context) error {
	p := parametersOf(c)
	limit, minSeq := p.limit(), p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		list, err := ReadRedactions(ctx, v.tx, "")
		if err != nil {
			return nil, err
		}
		slices.Reverse(list)
		list = list[:min(len(list), limit)]
		for i := range list {
			v.tell(&list[i])
		}
		return redactionsAnswer{list, len(list), v.asOf}, nil
	})
}

// showRedaction shows one, with how far it is.
func (s *Server) showRedaction(c echo.Context) error {
	p := parametersOf(c)
	minSeq, id := p.minSeq(), strings.TrimSpace(idOf(c))
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		list, err := ReadRedactions(ctx, v.tx, id)
		if err != nil {
			return nil, err
		}
		if id == "" || len(list) == 0 {
			p := notFound(fmt.Sprintf("No redaction %q", beginning(id, maxField)))
			p.Field, p.Hint = "id", "GET "+redactionsPath+" lists redactions"
			return nil, p
		}
		v.tell(&list[0])
		return list[0], nil
	})
}

// tell says how far a redaction is that is under way.
func (v *view) tell(r *Redaction) {
	if v.Redactions == nil || v.then != nil || r.State != RedactionPending {
		return
	}
	if p, ok := v.Redactions.Progress(r.ID); ok {
		r.Progress = &p
	}
}
