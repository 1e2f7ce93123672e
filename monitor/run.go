package monitor

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

const runsPath = "/api/runs"

// Bounds of the answer about a run.
const (
	maxRunID     = 512
	maxRunText   = 64 << 10 // bytes of its question and of its answer
	maxCallText  = 4 << 10  // bytes of the arguments, the result or the text of a call
	maxRunCalls  = 200      // the newest ones are shown
	maxCallsRead = 8 << 20  // bytes of their messages
)

// RunText is a question or an answer, as far as it is shown.
type RunText struct {
	Text     string `json:"text"`
	Cut      bool   `json:"cut"` // it is longer
	Redacted bool   `json:"redacted"`
}

// Kinds of calls.
const (
	callModel = "model"
	callTool  = "tool"
)

// RunCall is a call of a model or of a tool in the course of a run.
type RunCall struct {
	Kind       string                     `json:"kind"` // model, tool
	Seq        int64                      `json:"seq"`  // of the event with its result
	At         int64                      `json:"at"`   // ms since 1970, time of its result
	Provider   string                     `json:"provider,omitempty"`
	Model      string                     `json:"model,omitempty"`
	StopReason string                     `json:"stopReason,omitempty"` // of a model
	Usage      *coordination.SessionUsage `json:"usage,omitempty"`      // of a model: tokens
	Tool       string                     `json:"tool,omitempty"`
	Arguments  string                     `json:"arguments,omitempty"` // of a tool: JSON, possibly cut
	Text       string                     `json:"text,omitempty"`      // result of a tool, or text of a model
	IsError    bool                       `json:"isError,omitempty"`
}

// RunTold is what was asked in a run, answered and called. Over is null while it is not over, and if its end is redacted.
type RunTold struct {
	Question RunText
	Over     *coordination.RunOver
	Answer   RunText
	Calls    []RunCall
	CallsCut bool // there were more calls, or some are redacted or archived; the newest are listed
}

// ReadEvents reads events by seq, with archived payloads; unknown ones are left out.
type ReadEvents func(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)

// RunTelling reads what was asked in a run, answered and called. Its cost depends on the run, not on the log.
func RunTelling(ctx context.Context, tx *sql.Tx, r *run.Result, w *Wording, events ReadEvents) (*RunTold, error) {
	overSeq, err := runs.OverSeq(ctx, tx, r.RunID)
	if err != nil {
		return nil, err
	}
	seqs := []int64{r.Seq}
	if overSeq > 0 {
		seqs = append(seqs, overSeq)
	}
	read, err := events(ctx, tx, seqs)
	if err != nil {
		return nil, err
	}
	told := &RunTold{Calls: []RunCall{}}
	for i := range read {
		e := &read[i]
		if err := budget.Take(ctx, timesHeld*int64(len(e.Data))); err != nil {
			return nil, err
		}
		switch e.Seq {
		case r.Seq:
			var q coordination.RunQueued
			if told.Question.Redacted = e.Redacted(); !told.Question.Redacted {
				_ = json.Unmarshal(projections.Current(e).Data, &q) // a member of another type stays blank
			}
			told.Question.Text, told.Question.Cut = cutBytes(w.Text(q.Message), maxRunText)
		case overSeq:
			if told.Over = runs.Over(e); told.Over == nil {
				told.Answer.Redacted = true
				continue
			}
			told.Answer.Text, told.Answer.Cut = cutBytes(w.Text(told.Over.Text), maxRunText)
		}
	}
	if r.SessionID == "" || r.StartedAt == 0 {
		return told, nil
	}
	list, cut, err := sessions.OfRun(ctx, tx, sessions.RunQuery{Transcript: r.SessionID, RunID: r.RunID, After: r.Seq, Over: overSeq, Limit: maxRunCalls,
		MaxBytes: maxCallsRead})
	told.CallsCut = cut
	told.Calls = append(told.Calls, callsOf(list, w)...)
	return told, err
}

// callsOf are the calls that a run's messages tell of: those of agents are of models, those of tools of tools.
func callsOf(list []sessions.Message, w *Wording) (calls []RunCall) {
	arguments := map[string]string{}
	for i := range list {
		m := &list[i]
		c := RunCall{Kind: callModel, Seq: m.Seq, At: m.At, Provider: m.Data.Provider, Model: m.Data.Model, StopReason: m.Data.StopReason,
			Usage: m.Data.Usage, IsError: m.Data.IsError}
		switch m.Data.Author {
		case "assistant":
			for _, asked := range toolCalls(m.Data.Content) {
				arguments[asked.ID], _ = cutBytes(string(asked.Arguments), maxCallText)
			}
		case callTool:
			c.Kind, c.Tool, c.Arguments = callTool, m.Data.ToolName, w.Text(arguments[m.Data.ToolCallID])
		default:
			continue
		}
		c.Text, _ = cutBytes(w.Text(m.Data.Text), maxCallText)
		calls = append(calls, c)
	}
	return calls
}

type askedCall struct {
	Type, ID  string
	Arguments json.RawMessage
}

func toolCalls(content json.RawMessage) (list []askedCall) {
	var blocks []askedCall
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		if b.Type == "toolCall" {
			list = append(list, b)
		}
	}
	return list
}

// cutBytes cuts a text to at most a number of bytes, not within a character.
func cutBytes(text string, most int) (shown string, cut bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], true
}

// runTellingAnswer answers GET /api/runs/:id: a run as in the list, and what was said in it.
type runTellingAnswer struct {
	runAnswer
	ReasonCode   coordination.ReasonCode    `json:"reasonCode,omitempty"`
	Error        string                     `json:"error,omitempty"`
	StoppedBy    string                     `json:"stoppedBy,omitempty"`
	StopReason   string                     `json:"stopReason,omitempty"`
	FallbackFrom string                     `json:"fallbackFrom,omitempty"`
	Usage        *coordination.SessionUsage `json:"usage"`
	Question     RunText                    `json:"question"`
	Answer       *RunText                   `json:"answer"`
	Calls        []RunCall                  `json:"calls"`
	CallsCut     bool                       `json:"callsCut"`
	AsOfSeq      int64                      `json:"asOfSeq"`
}

func (s *Server) showRun(c echo.Context) error {
	id := idOf(c)
	p := parametersOf(c)
	switch {
	case strings.Trim(id, "/ ") == "":
		return echo.ErrNotFound
	case len(id) > maxRunID:
		return tooLong("id", id, maxRunID)
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		r, found, err := runs.ByID(ctx, v.tx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			p := notFound("No run " + coordination.Shown(id))
			p.Hint = "GET " + runsPath + " lists the runs; an imported log has none"
			return nil, p
		}
		told, err := RunTelling(ctx, v.tx, &r, v.wording(), v.Store.EventsIn)
		if err != nil {
			return nil, err
		}
		return told.answer(&r, v), nil
	})
}

func (told *RunTold) answer(r *run.Result, v *view) *runTellingAnswer {
	over := told.Over
	if r.Over = over; over == nil {
		over = &coordination.RunOver{}
	}
	a := &runTellingAnswer{runAnswer: runAnswerOf(r), ReasonCode: coordination.ReasonOfRun(string(r.State), over.ErrorClass, over.Reason),
		Error: v.wording().Text(coordination.Mask(over.Error)), StoppedBy: over.By, StopReason: over.StopReason, FallbackFrom: over.FallbackFrom,
		Usage: over.Usage, Question: told.Question, Calls: told.Calls, CallsCut: told.CallsCut, AsOfSeq: v.asOf}
	if r.State.Over() {
		a.Answer = &told.Answer
	}
	return a
}
