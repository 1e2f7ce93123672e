package config

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// Timeout is the time limit of an agent's runs from their start; 0 is unlimited. Any id may be given.
func (c *Config) Timeout(agentID string) time.Duration {
	if a := c.AgentNamed(agentID); a != nil && a.Timeout != nil {
		return *a.Timeout
	}
	return c.Defaults.Timeout
}

// Lanes is the number of concurrent runs per lane.
func (c *Config) Lanes() map[string]int {
	return map[string]int{run.LaneMain: c.Defaults.MaxConcurrent, run.LaneNested: c.Defaults.MaxNested, run.LaneSubagent: c.Defaults.Subagents.MaxConcurrent,
		run.LaneCron: c.Cron.MaxConcurrent}
}
