package openclaw

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// Files of what an owner has granted and of secrets, up to 2026.5, and the tables that have replaced them.
const (
	approvalsFile  = "exec-approvals.json"
	approvalsTable = "exec_approvals_config"
	devicesFile    = "devices/paired.json"
	devicesTable   = "device_pairing_paired"
	keysFile       = "auth-profiles.json"
)

// Grant is something that an owner has granted or entrusted. What it is exactly is not read.
type Grant struct {
	Place string
	Agent string // of commands and keys; "*": all agents
	Count int    // commands or devices
}

// AllowedCommands lists the agents that may run some commands without being asked about them.
func (s *Source) AllowedCommands(ctx context.Context) (list []Grant) {
	type approvals struct {
		Agents map[string]struct{ Allowlist []json.RawMessage }
	}
	add := func(place string, a *approvals) {
		for _, agent := range slices.Sorted(maps.Keys(a.Agents)) {
			if n := len(a.Agents[agent].Allowlist); n > 0 {
				list = append(list, Grant{Place: place + "#" + agent, Agent: agent, Count: n})
			}
		}
	}
	var file approvals
	switch {
	case s.known(statePath):
		for _, row := range s.rowsOf(ctx, approvalsTable, "raw_json") {
			var one approvals
			if err := json.Unmarshal([]byte(row), &one); err != nil {
				s.problem(statePath+"#"+approvalsTable, ReasonInvalid, "it is not the JSON that is expected: "+err.Error(), "")
				continue
			}
			add(statePath+"#"+approvalsTable, &one)
		}
	case s.ReadJSON(approvalsFile, &file):
		add(approvalsFile, &file)
	}
	return list
}

// rowsOf reads a column of a table of the database that all agents share. Versions that do not have the table have no rows.
func (s *Source) rowsOf(ctx context.Context, table, column string) (values []string) {
	d := s.stateDatabase(ctx)
	if d == nil || len(d.list(1, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ?", table)) == 0 {
		return nil
	}
	for _, row := range d.list(1, "SELECT "+column+" FROM "+table) {
		values = append(values, row[0])
	}
	return values
}

// PairedDevices counts the apps and programs that were paired, 0 if there are none.
func (s *Source) PairedDevices(ctx context.Context) Grant {
	if s.known(statePath) {
		return Grant{Place: statePath + "#" + devicesTable, Count: len(s.rowsOf(ctx, devicesTable, "device_id"))}
	}
	var file map[string]json.RawMessage
	s.ReadJSON(devicesFile, &file)
	return Grant{Place: devicesFile, Count: len(file)}
}

// KeyFiles lists the files with keys of models.
func (s *Source) KeyFiles() (list []Grant) {
	for _, agent := range s.Agents {
		if place := path.Join("agents", agent, "agent", keysFile); s.known(place) {
			list = append(list, Grant{Place: place, Agent: agent})
		}
	}
	return list
}

// Workspaces lists the workspaces of agents that are in the directory.
func (s *Source) Workspaces() (list []string) {
	for _, name := range s.names(".") {
		if name == workspaceName || strings.HasPrefix(name, workspaceName+"-") {
			list = append(list, name)
		}
	}
	return list
}

// companions are the files of ProntoClaw that a server of ours reads in its own state directory.
var companions = []string{"state/thread-participants.json", "state/a2a-mention-tracking.json", "state/a2a-conversation-index.json", "thread-participants.json",
	"a2a-mention-tracking.json", "a2a-conversation-index.json", "plans", "team-state.json", "work-session-category-overrides.json"}

// Companions lists the files of ProntoClaw that are in the directory, beside its logs and workspaces.
func (s *Source) Companions() (list []string) {
	for _, name := range companions {
		if s.known(name) {
			list = append(list, name)
		}
	}
	return list
}

const workspaceName = "workspace"
