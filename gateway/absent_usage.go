package gateway

import (
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// usageTotals are what models were paid. Nothing was: what they count is shown with each session, and no price is known here.
type usageTotals struct {
	Input              int64 `json:"input"`
	Output             int64 `json:"output"`
	CacheRead          int64 `json:"cacheRead"`
	CacheWrite         int64 `json:"cacheWrite"`
	TotalTokens        int64 `json:"totalTokens"`
	TotalCost          int64 `json:"totalCost"`
	InputCost          int64 `json:"inputCost"`
	OutputCost         int64 `json:"outputCost"`
	CacheReadCost      int64 `json:"cacheReadCost"`
	CacheWriteCost     int64 `json:"cacheWriteCost"`
	MissingCostEntries int64 `json:"missingCostEntries"`
}

// answerUsage answers usage.status: how much is left at providers that tell. None is asked here.
func (s *Server) answerUsage(context.Context, *wire.Call) (any, error) {
	return struct {
		UpdatedAt int64 `json:"updatedAt"`
		Providers []any `json:"providers"`
	}{s.opts.Now().UnixMilli(), []any{}}, nil
}

// answerCost answers usage.cost. Wrong parameters are passed over, as the original does.
func (s *Server) answerCost(_ context.Context, call *wire.Call) (any, error) {
	const usual = 30
	var p struct {
		Days float64 `json:"days"`
	}
	if json.Unmarshal(call.Params, &p) != nil || p.Days < 1 || p.Days > 36_500 {
		p.Days = usual
	}
	return struct {
		UpdatedAt int64       `json:"updatedAt"`
		Days      int         `json:"days"`
		Daily     []any       `json:"daily"`
		Totals    usageTotals `json:"totals"`
	}{UpdatedAt: s.opts.Now().UnixMilli(), Days: int(p.Days), Daily: []any{}}, nil
}
