package messenger

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/services/access"
)

const (
	statusAccepted  = "accepted"
	StatusForbidden = "forbidden"
	StatusError     = "error"
)

// Codes of refused sub-agents and messages.
const (
	codeSpawnDepth   = "spawn_depth"       // too deep to start sub-agents
	codeChildren     = "too_many_children" // the session has the maximum number of active sub-agents
	codeSpawnAgent   = "spawn_agent"       // the caller's agent may not start that one
	codeNotStarted   = "not_started"       // its run was refused at the first attempt
	codeUnknownAgent = "unknown_agent"
	codeInvalid      = "invalid_request"
)

// refusal explains why a sub-agent is not started, or a message not accepted.
type refusal struct {
	status             string // error, forbidden
	code, reason, hint string
}

// limit returns the limit that forbids a sub-agent, nil for none, and the depth that it would have.
func (s *spawnOperation) limit(tx eventstore.Tx, jobID string) (refused *refusal, depth int, err error) {
	forbid := func(code, why, hint string) (*refusal, int, error) {
		return &refusal{StatusForbidden, code, why, hint}, depth, nil
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
			fmt.Sprintf("this session has the maximum number of active sub-agents (%d of %d)", children, limits.MaxChildrenPerAgent),
			"wait until one of them is done, or kill one; subagents lists them")
	}
	if err := s.passing.locate(tx, s.r.From, chain.Link{}, s.r.Hop, jobID); err != nil {
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
