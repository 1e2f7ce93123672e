package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/index"
)

// categoriesAnswer answers GET /api/categories.
type categoriesAnswer struct {
	Categories []categoryAnswer `json:"categories"`
	Count      int              `json:"count"`
	AsOfSeq    int64            `json:"asOfSeq"`
}

type categoryAnswer struct {
	Category coordination.Category `json:"category"`
	NameKo   string                `json:"nameKo"`
	Sessions int64                 `json:"sessions"`
	Events   int64                 `json:"events"`
}

func (s *Server) listCategories(c echo.Context) error {
	p := parametersOf(c)
	internal := p.internal()
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		events, err := index.Select(ctx, v.tx, index.Filter{Internal: internal})
		if err != nil {
			return nil, err
		}
		sessions, err := conversations.CountByCategory(ctx, v.tx, conversations.Scope{Internal: internal})
		if err != nil {
			return nil, err
		}
		a := &categoriesAnswer{AsOfSeq: v.asOf}
		for _, c := range coordination.Categories() {
			a.Categories = append(a.Categories, categoryAnswer{Category: c.Category, NameKo: c.NameKo,
				Sessions: sessions[string(c.Category)], Events: events.Categories[string(c.Category)]})
		}
		a.Count = len(a.Categories)
		return a, nil
	})
}
