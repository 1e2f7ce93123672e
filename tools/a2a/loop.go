package a2a

import (
	"fmt"
	"time"

	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
)

// What ends loops: agents that pass a message on for ever, or that answer each result of a sub-agent by starting further ones. Each flow is
// one further from what began it, and what began it may begin so many flows in a while.

// hopOf is how far a flow is from what began it all. What a caller claims never brings it nearer.
func hopOf(from tool.Caller, asked *int) int {
	hop := from.Hop + 1
	if asked != nil {
		hop = max(hop, *asked)
	}
	return hop
}

// tooFar says what forbids a flow that is so far, nil if nothing does.
func tooFar(hop int) *refusal {
	if hop <= decide.MaxHops {
		return nil
	}
	return &refusal{statusForbidden, codeHops,
		fmt.Sprintf("this was passed on between agents %d times, at most %d are allowed", hop, decide.MaxHops), "answer yourself, or tell a person"}
}

// tooMany says what forbids another flow of a work session, nil if nothing does. What clients ask for is counted, and not refused. begun is how
// many the transaction begins there before it.
func tooMany(tx eventstore.Tx, from tool.Caller, workSession string, begun int, now time.Time) (*refusal, error) {
	if from.RunID == "" {
		return nil, nil
	}
	at, err := projection.BegunAt(tx, workSession, decide.MaxBurst-begun)
	if err != nil || at == 0 || now.UnixMilli()-at >= decide.BurstMs {
		return nil, err
	}
	return &refusal{statusForbidden, codeBurst,
		fmt.Sprintf("agents have begun %d exchanges in work session %s within %s", decide.MaxBurst, workSession, decide.BurstMs*time.Millisecond),
		"go on with what is there, or tell a person"}, nil
}
