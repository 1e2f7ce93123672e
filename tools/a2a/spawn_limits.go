package a2a

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/eventstore"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/tools/access"
)

// Statuses of results.
const (
	statusAccepted  = "accepted"
	statusForbidden = "forbidden"
	statusError     = "error"
)

// Codes of what is refused, sub-agents and messages.
const (
	codeSpawnDepth   = "spawn_depth"       // sub-agents start no further ones as deep as that
	codeChildren     = "too_many_children" // the session has as many already as it may have at a time
	codeSpawnAgent   = "spawn_agent"       // the agent may not start that one
	codeNotStarted   = "not_started"       // its run was refused, the first time
	codeUnknownAgent = "unknown_agent"
	codeInvalid      = "invalid_request"
)

// refusal says why a sub-agent is not started, or a message not taken on.
type refusal struct {
	status             string // error, forbidden
	code, reason, mend string
}

// limit says what forbids a sub-agent, nil if nothing does, and how deep it would be.
func (s *spawning) limit(tx eventstore.Tx, jobID string) (refused *refusal, depth int, err error) {
	forbid := func(code, why, mend string) (*refusal, int, error) {
		return &refusal{statusForbidden, code, why, mend}, depth, nil
	}
	limits := &s.config.Defaults.Subagents
	above, err := depthOf(tx, s.from)
	if err != nil {
		return nil, 0, err
	}
	depth = above + 1
	if above >= limits.MaxSpawnDepth {
		return forbid(codeSpawnDepth,
			fmt.Sprintf("sessions_spawn is not allowed at this depth (current depth: %d, max: %d)", above, limits.MaxSpawnDepth),
			"do the work in this session, or have agents.defaults.subagents.maxSpawnDepth raised")
	}
	children, err := flows.Children(tx, s.from.String())
	if err != nil {
		return nil, 0, err
	}
	if children >= limits.MaxChildrenPerAgent {
		return forbid(codeChildren,
			fmt.Sprintf("this session has as many active sub-agents as it may have (%d of %d)", children, limits.MaxChildrenPerAgent),
			"wait until one of them is done, or kill one; subagents lists them")
	}
	if err := s.passing.place(tx, s.r.From, chain.Link{}, s.r.Hop, jobID); err != nil {
		return nil, depth, err
	}
	if looping, err := s.passing.against(tx, &s.config.Defaults.LoopGuard, s.r.From.AgentID, s.target, 0, s.now); looping != nil || err != nil {
		return looping, depth, err
	}
	if why := access.DenySpawn(s.config, s.r.From.AgentID, s.target); why != "" {
		return forbid(codeSpawnAgent, why, "start one of the agents that agents_list shows with canSpawn")
	}
	return unknownAgent(s.config, s.target), depth, nil
}
