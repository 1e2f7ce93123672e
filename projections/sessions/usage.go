package sessions

import (
	"context"
	"database/sql"
	"math"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Usage is what one session's answers within a quarter of an hour have used of one model, without answers of runs here: those are counted with
// the runs. So it is what other programs used whose sessions were taken over.
type Usage struct {
	SessionKey, Provider, Model, Agent    string
	Quarter                               int64 // ms since 1970 / UsageStep
	Answers, Questions, Failed, ToolCalls int64 // Questions: answers that ended a turn
	Unpriced                              int64 // answers without a cost
	Input, Output, Total                  int64 // tokens; Input has those of the cache
	CacheRead, CacheWrite                 int64
	Cost                                  Cost
	First, Last                           int64 // ms since 1970
}

// Cost is in 10^-9 of the currency of the prices.
type Cost struct{ Input, Output, CacheRead, CacheWrite, Total int64 }

// UsageStep is the time that one Usage covers, in ms. Every time zone's offset is a multiple of it.
const UsageStep = 15 * 60 * 1000

// usageKey is what identifies a row of session_usage.
type usageKey struct {
	quarter                  int64
	session, provider, model string
}

var usageNames = []string{"quarter", "session_key", "provider", "model", "agent", "answers", "questions", "failed", "tool_calls", "unpriced", "input_tokens",
	"output_tokens", "total_tokens", "cache_read_tokens", "cache_write_tokens", "input_cost", "output_cost", "cache_read_cost", "cache_write_cost", "total_cost",
	"first_at", "last_at"}

// counts are the numbers of a row, in the order of the columns.
func (u *Usage) counts() []*int64 {
	return []*int64{&u.Answers, &u.Questions, &u.Failed, &u.ToolCalls, &u.Unpriced, &u.Input, &u.Output, &u.Total, &u.CacheRead, &u.CacheWrite,
		&u.Cost.Input, &u.Cost.Output, &u.Cost.CacheRead, &u.Cost.CacheWrite, &u.Cost.Total, &u.First, &u.Last}
}

func newUsage(table string) *projections.Table[usageKey, Usage] {
	return projections.NewTable(projections.Columns[usageKey, Usage]{
		Table: table, Names: usageNames, Key: 4, Fixed: 5, Keep: 2_000,
		Lookup: "quarter = ? AND session_key = ? AND provider = ? AND model = ?",
		LookUp: func(k usageKey) []any { return []any{k.quarter, k.session, k.provider, k.model} },
		Scan: func(r eventstore.Row, u *Usage) error {
			*u = Usage{Quarter: r.Int(0), SessionKey: r.Text(1), Provider: r.Text(2), Model: r.Text(3), Agent: r.Text(4)}
			for i, n := range u.counts() {
				*n = r.Int(5 + i)
			}
			return nil
		},
		Args: func(args []any, u *Usage) []any {
			args = append(args, u.Quarter, u.SessionKey, u.Provider, u.Model, u.Agent)
			for _, n := range u.counts() {
				args = append(args, *n)
			}
			return args
		},
	})
}

// use folds what a message has used: an answer that no run here gave, or the result of a tool that such an answer has called. Last is the model
// that has answered last.
func (p *projector) use(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData, last *sessionRow) error {
	answer := d.author == "assistant" && d.by == "" && d.usage != nil
	if d.runID != "" || e.TS < 0 || !answer && (d.author != "tool" || last == nil || last.model == "") {
		return nil
	}
	key := usageKey{e.TS / UsageStep, k.String(), d.provider, d.model}
	if !answer {
		key.provider, key.model = last.provider, last.model
	}
	u, existed, err := p.usage.Edit(tx, key)
	if err != nil {
		return err
	}
	if !existed {
		*u = Usage{Quarter: key.quarter, SessionKey: key.session, Provider: key.provider, Model: key.model, Agent: k.Agent, First: e.TS, Last: e.TS}
	}
	u.First, u.Last = min(u.First, e.TS), max(u.Last, e.TS)
	if !answer {
		u.ToolCalls++
		return nil
	}
	u.answer(d)
	return nil
}

func (u *Usage) answer(d *eventData) {
	u.Answers++
	if d.stopReason != "toolUse" {
		u.Questions++
	}
	if d.stopReason == "error" {
		u.Failed++
	}
	used := d.usage
	u.Input, u.Output, u.Total = u.Input+used.input, u.Output+used.output, u.Total+used.total
	u.CacheRead, u.CacheWrite = u.CacheRead+used.cacheRead, u.CacheWrite+used.cacheWrite
	if used.cost == nil {
		u.Unpriced++
		return
	}
	for i, sum := range []*int64{&u.Cost.Input, &u.Cost.Output, &u.Cost.CacheRead, &u.Cost.CacheWrite, &u.Cost.Total} {
		*sum += used.cost[i]
	}
}

// maxCost bounds the cost of an answer, so that sums stay in range.
const maxCost = 1e6

// readCost reads the cost of an answer in the order of Cost, nil if there is no total.
func readCost(raw []byte) *[5]int64 {
	var cost [5]int64
	priced := false
	if coordination.EachField(raw, func(name string, value []byte) bool {
		n, _ := coordination.NumberValue(value)
		nano := int64(math.Round(min(max(n, 0), maxCost) * 1e9))
		switch name {
		case "input":
			cost[0] = nano
		case "output":
			cost[1] = nano
		case "cacheRead":
			cost[2] = nano
		case "cacheWrite":
			cost[3] = nano
		case "total":
			cost[4], priced = nano, true
		}
		return true
	}) != nil || !priced {
		return nil
	}
	return &cost
}

// UsageQuery selects usage of quarters that begin within some time.
type UsageQuery struct {
	From, To   int64  // ms since 1970: From inclusive, To exclusive
	Agent      string // "": of any
	SessionKey string // "": of any
}

var selectUsage = "SELECT " + strings.Join(usageNames, ", ") + fromUsage

const (
	fromUsage    = " FROM session_usage WHERE quarter >= ? AND quarter < ?"
	usageInOrder = " ORDER BY quarter, session_key, provider, model"
)

// UsageIn returns usage, oldest first.
func UsageIn(ctx context.Context, tx *sql.Tx, q UsageQuery) ([]Usage, error) {
	query, args := selectUsage, []any{q.From / UsageStep, (q.To + UsageStep - 1) / UsageStep}
	if q.Agent != "" {
		query, args = query+" AND agent = ?", append(args, q.Agent)
	}
	if q.SessionKey != "" {
		query, args = query+" AND session_key = ?", append(args, q.SessionKey)
	}
	return projections.ListRows(ctx, tx, "read usage of sessions", query+usageInOrder, args, func(rows *sql.Rows, u *Usage) error {
		fields := []any{&u.Quarter, &u.SessionKey, &u.Provider, &u.Model, &u.Agent}
		for _, n := range u.counts() {
			fields = append(fields, n)
		}
		return rows.Scan(fields...)
	})
}
