package monitor

import (
	"context"
	"encoding/json"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/toolcalls"
)

const toolCallsPath = "/api/tools/calls"

// ToolCallsAnswer answers GET /api/tools/calls.
type ToolCallsAnswer struct {
	Calls      []toolcalls.Call `json:"calls"`
	Count      int              `json:"count"`
	States     map[string]int64 `json:"states"` // of all calls: how many are open, over, and unknown
	NextCursor *string          `json:"nextCursor"`
	AsOfSeq    int64            `json:"asOfSeq"`
}

// Limits of a call in a list. The events have the rest.
const (
	maxRecordedText      = 2_000 // characters
	maxRecordedArguments = 2_000 // bytes
)

// listToolCalls lists the recorded calls of tools, newest first. Long results are cut, and long arguments left out.
func (s *Server) listToolCalls(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := toolcalls.Query{Agent: p.agent("agent"), Tool: p.first("tool"), Server: p.first("server"), State: p.word("state", toolcalls.States()...),
		Before: p.placeCursor("k"), Limit: limit + 1}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := toolcalls.List(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "k", func(call *toolcalls.Call) int64 { return call.Place })
		for i := range list {
			shorten(&list[i])
		}
		states, err := v.toolCallStates(ctx)
		return ToolCallsAnswer{Calls: list, Count: len(list), States: states, NextCursor: next, AsOfSeq: v.asOf}, err
	})
}

func shorten(c *toolcalls.Call) {
	if text := coordination.Head(c.Text, maxRecordedText); len(text) < len(c.Text) {
		c.Text = text + "…"
	}
	if len(c.Arguments) > maxRecordedArguments {
		c.ArgumentsBytes, c.Arguments = len(c.Arguments), json.RawMessage(nil)
	}
}

func (v *view) toolCallStates(ctx context.Context) (map[string]int64, error) {
	var counts [3]int64
	for i, typ := range [...]string{coordination.TypeToolCalled, coordination.TypeToolEnded, coordination.TypeToolOutcomeUnknown} {
		n, err := index.CountInternal(ctx, v.tx, typ)
		if err != nil {
			return nil, err
		}
		counts[i] = n
	}
	return map[string]int64{"open": max(counts[0]-counts[1]-counts[2], 0), "ended": counts[1], "unknown": counts[2]}, nil
}
