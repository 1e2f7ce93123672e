package server

import (
	"context"
)

// service is something that goes on while the program serves. run returns nil when its context ends; an error ends the program. What can
// go wrong and right again (a file that cannot be read, a peer that does not answer) is logged and tried again, never returned.
type service struct {
	name string
	run  func(context.Context) error
}

// services lists what goes on beside answering requests. It is called when the log is open and its tables are live.
func (p *Program) services() []service {
	return []service{
		{"watch", p.watcher.Run},
		{"supervisor", p.supervise},
		{"monitor", p.monitor.Run},
		{"gateway", p.runGateway},
		{"gateway token", p.followToken},
		{"work", p.runWork},
		{"continuation", p.keepGoing},
		{"discord", p.runDiscord},
		{"discord places", p.releasePlaces},
		{"notify", p.tellPeople},
		{"search", p.feedSearch},
		{"past", p.runPast},
		{"follow", p.followLogs},
		{"workspaces", p.watchWorkspaces},
		{"task files", p.runTaskFiles},
		{"backups", p.backups.Run},
		{"redactions", p.runRedactions},
		{"verify", p.verifyChain},
		{"mirror", p.runMirror},
		{"category overrides", p.overrides.Run},
		{"configuration", p.followConfig},
	}
}
