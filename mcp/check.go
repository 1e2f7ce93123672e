package mcp

import (
	"fmt"
	"os"

	"github.com/pronto-lab/openclawd/config"
)

// Problem is why a server of the configuration cannot be started.
type Problem struct{ Server, Text, Hint string }

// Check looks, without starting anything, for servers whose programs or directories are missing.
func Check(c *config.Config, getenv func(string) string) (list []Problem) {
	for i := range c.MCP.Servers {
		s := &c.MCP.Servers[i]
		if !s.Enabled || s.Command == "" {
			continue
		}
		dir := directory(s, getenv("HOME"))
		if _, err := programPath(s.Command, dir, getenv("PATH")); err != nil {
			list = append(list, Problem{s.Name, fmt.Sprintf("MCP server %s: %v", s.Name, err), "install it, or give its whole path as command"})
		}
		if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
			list = append(list, Problem{s.Name, fmt.Sprintf("MCP server %s: its directory %s does not exist", s.Name, dir), "create it, or change cwd"})
		}
	}
	return list
}
