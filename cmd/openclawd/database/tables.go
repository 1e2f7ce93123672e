package database

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/continuation"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/plan"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Projections lists the projections that this binary runs, decision tables first.
func Projections(rules coordination.Rules) []projections.Definition {
	return []projections.Definition{
		conversation.Routes(rules), session.Definition(), run.Definition(), work.Definition(), a2a.Definition(), task.Definition(),
		continuation.Definition(), plan.Definition(), routing.Definition(), response.Definition(),
		index.Definition(rules), conversation.Definition(rules),
	}
}

// Statuses reads where the projections of a file stand. Without any it is an empty list, not nil.
func Statuses(ctx context.Context, log *sqlite.DB) ([]projections.Status, error) {
	list := []projections.Status{}
	err := log.View(ctx, func(tx *sql.Tx) error {
		found, err := projections.List(ctx, tx)
		list = append(list, found...)
		return err
	})
	return list, err
}

// Rules are those that the tables of a file were made with; RulesV2 where that is not known.
func Rules(ctx context.Context, log *sqlite.DB) coordination.Rules {
	list, err := Statuses(ctx, log)
	if err != nil {
		return coordination.RulesV2
	}
	for i := range list {
		if _, name, ok := strings.Cut(list[i].Version, "/"); ok {
			if rules, err := coordination.ParseRules(name); err == nil {
				return rules
			}
		}
	}
	return coordination.RulesV2
}
