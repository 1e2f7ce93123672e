package projectiontest

import (
	"context"
	"errors"
	"io"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// Log is a log that can be closed.
type Log interface {
	projections.Log
	io.Closer
}

// Empty creates logs that have the tables of some projections and no event, each by open at an unused path.
func Empty(open func(path string) (Log, error), defs ...projections.Definition) func(path string) error {
	return func(path string) error {
		log, err := open(path)
		if err != nil {
			return err
		}
		_, err = projections.Start(context.Background(), log, defs, projections.Options{Rules: coordination.RulesV2})
		return errors.Join(err, log.Close())
	}
}
