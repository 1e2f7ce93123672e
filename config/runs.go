package config

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// Timeout is how long a run of an agent may take from its beginning; 0 is for ever. Any id may be asked for.
func (c *Config) Timeout(agentID string) time.Duration {
	if a := c.AgentNamed(agentID); a != nil && a.Timeout != nil {
		return *a.Timeout
	}
	return c.Defaults.Timeout
}

// Lanes says how many runs may go on at a time in each lane.
func (c *Config) Lanes() map[string]int {
	return map[string]int{run.LaneMain: c.Defaults.MaxConcurrent, run.LaneNested: c.Defaults.MaxNested, run.LaneSubagent: c.Defaults.Subagents.MaxConcurrent}
}
