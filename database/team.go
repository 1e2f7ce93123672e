package database

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// ApplyTeam appends the team to the log unless it equals the last recorded one, and reports whether it did.
// Settings are not compared: the hash covers them, and an older event without them is no reason for a new one.
func ApplyTeam(ctx context.Context, log eventstore.Store, team coordination.ConfigApplied) (changed bool, err error) {
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
