package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	// configName is the configuration's file in a state directory.
	configName = "openclaw.json"
)

// readTeam reads whom a configuration names as agents. Its error is a *configError if the configuration cannot be used, and isMissing if
// there is none. Everything that is wrong or odd is logged, each with its place.
func readTeam(path string, getenv func(string) string, logger *slog.Logger) (coordination.ConfigApplied, error) {
	loaded, findings := config.Load(path, getenv)
	logFindings(logger, findings)
	if err := findings.Err(); err != nil {
		return coordination.ConfigApplied{}, badConfig(path, err)
	}
	if !loaded.Found {
		return coordination.ConfigApplied{}, fmt.Errorf("read configuration %s: %w", path, os.ErrNotExist)
	}
	return loaded.Applied(), nil
}

func logFindings(logger *slog.Logger, findings config.Findings) {
	for i := range findings {
		f := &findings[i]
		level := slog.LevelWarn
		if f.Severity == config.Error {
			level = slog.LevelError
		}
		logger.Log(context.Background(), level, f.Message, "at", f.Where(), "setting", f.Path, "code", f.Code, "mend", f.Mend)
	}
}

// badConfig says that the configuration at path cannot be used.
func badConfig(path string, err error) error {
	return &configError{setting: "configuration", value: path, err: err,
		mend: "openclawd config check " + path + " lists everything that is to be mended"}
}

// applyTeam appends team to the log unless it is what the log said last, and reports whether it did. Settings are not compared: the hash
// is theirs, and an older event that does not hold them is no reason for a new one.
func applyTeam(ctx context.Context, log eventstore.Store, team coordination.ConfigApplied) (changed bool, err error) {
	version, err := log.StreamVersion(ctx, coordination.ConfigStream)
	if err != nil {
		return false, err
	}
	last, err := log.ReadStream(ctx, coordination.ConfigStream, version-1, 1)
	if err != nil {
		return false, err
	}
	var applied coordination.ConfigApplied
	if len(last) == 1 && json.Unmarshal(last[0].Data, &applied) == nil && reflect.DeepEqual(withoutSettings(applied), withoutSettings(team)) {
		return false, nil
	}
	data, err := json.Marshal(team)
	if err != nil {
		return false, fmt.Errorf("write configuration event: %w", err)
	}
	_, err = log.Append(ctx, eventstore.StreamAppend{Stream: coordination.ConfigStream, Expect: eventstore.Exactly(version),
		Events: []eventstore.NewEvent{{Type: coordination.TypeConfigApplied, Ver: coordination.ConfigAppliedVersion, Actor: eventstore.ActorSystem, Data: data}}})
	return err == nil, err
}

func withoutSettings(team coordination.ConfigApplied) coordination.ConfigApplied {
	team.Settings, team.SettingsBytes = nil, 0
	return team
}

// isMissing reports whether there is no configuration at all, which is no fault.
func isMissing(err error) bool { return errors.Is(err, os.ErrNotExist) }
