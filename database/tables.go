package database

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Projections lists the projections of this binary, decision tables first.
func Projections(rules coordination.Rules) []projections.Definition {
	return []projections.Definition{
		conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(), tasks.Definition(),
		continuations.Definition(), schedules.Definition(), permissions.Definition(), plans.Definition(), routing.Definition(), responses.Definition(),
		index.Definition(rules), conversations.Definition(rules),
	}
}

// Statuses returns the states of a file's projections; an empty list, not nil, if there are none.
func Statuses(ctx context.Context, log *sqlite.DB) ([]projections.Status, error) {
	list := []projections.Status{}
	err := log.View(ctx, func(tx *sql.Tx) error {
		found, err := projections.List(ctx, tx)
		list = append(list, found...)
		return err
	})
	return list, err
}

// Rules returns the rules that the tables of a file were made with; RulesV2 if unknown.
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
