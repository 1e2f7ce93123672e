package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	// configName is the configuration's file in a state directory.
	configName = "openclaw.json"
	// configStream holds the config.applied events, so that the newest one is found at once.
	configStream = "config/" + configName
)

// readTeam reads whom an openclaw.json names as agents: agents.list, and the older form in which agents maps ids to settings.
func readTeam(path string) (coordination.ConfigApplied, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return coordination.ConfigApplied{}, fmt.Errorf("read configuration: %w", err)
	}
	agents, err := parseTeam(text)
	if err != nil {
		return coordination.ConfigApplied{}, fmt.Errorf("read configuration %s: %w", path, err)
	}
	canonical, err := json.Marshal(agents)
	if err != nil {
		return coordination.ConfigApplied{}, fmt.Errorf("read configuration %s: %w", path, err)
	}
	hash := sha256.Sum256(canonical)
	return coordination.ConfigApplied{
		Context: coordination.Context{EventRole: coordination.RoleObservability},
		Hash:    hex.EncodeToString(hash[:]), Source: configName, Agents: agents,
	}, nil
}

// configuredAgent is what an openclaw.json says of one agent, as far as the log needs it.
type configuredAgent struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Utility  bool   `json:"utility"`
	Identity struct {
		Name string `json:"name"`
	} `json:"identity"`
}

func parseTeam(text []byte) ([]coordination.ConfigAgent, error) {
	var file struct {
		Agents map[string]json.RawMessage `json:"agents"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	agents := []coordination.ConfigAgent{}
	add := func(id string, raw json.RawMessage) error {
		var a configuredAgent
		if err := json.Unmarshal(raw, &a); err != nil {
			return fmt.Errorf("agent %q: %w", id, err)
		}
		if a.ID == "" {
			a.ID = id
		}
		if a.Name == "" {
			a.Name = a.Identity.Name
		}
		if a.ID != "" {
			agents = append(agents, coordination.ConfigAgent{ID: a.ID, Name: a.Name, Kind: a.Kind, Utility: a.Utility})
		}
		return nil
	}
	var list []json.RawMessage
	if raw := file.Agents["list"]; raw != nil {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("agents.list: %w", err)
		}
	}
	for i, raw := range list {
		if err := add("", raw); err != nil {
			return nil, fmt.Errorf("agents.list[%d]: %w", i, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(file.Agents)) {
		if raw := file.Agents[id]; id != "list" && id != "defaults" && isFilledObject(raw) {
			if err := add(id, raw); err != nil {
				return nil, err
			}
		}
	}
	return agents, nil
}

func isFilledObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && len(members) > 0
}

// applyTeam appends team to the log unless it is what the log said last, and reports whether it did.
func applyTeam(ctx context.Context, log eventstore.Store, team coordination.ConfigApplied) (changed bool, err error) {
	version, err := log.StreamVersion(ctx, configStream)
	if err != nil {
		return false, err
	}
	last, err := log.ReadStream(ctx, configStream, version-1, 1)
	if err != nil {
		return false, err
	}
	var applied coordination.ConfigApplied
	if len(last) == 1 && json.Unmarshal(last[0].Data, &applied) == nil && reflect.DeepEqual(applied, team) {
		return false, nil
	}
	data, err := json.Marshal(team)
	if err != nil {
		return false, fmt.Errorf("write configuration event: %w", err)
	}
	_, err = log.Append(ctx, eventstore.StreamAppend{Stream: configStream, Expect: eventstore.Exactly(version),
		Events: []eventstore.NewEvent{{Type: coordination.TypeConfigApplied, Actor: eventstore.ActorSystem, Data: data}}})
	return err == nil, err
}

// isMissing reports whether there is no configuration at all, which is no fault.
func isMissing(err error) bool { return errors.Is(err, os.ErrNotExist) }
