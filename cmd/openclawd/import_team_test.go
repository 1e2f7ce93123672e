package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server/settings"
)

func writeConfig(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), settings.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTeam(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []coordination.ConfigAgent
	}{
		{"list", `{"agents":{"defaults":{"model":"x"},"list":[{"id":"eden","name":"이든"},{"id":"seum","identity":{"name":"세움"}}]}}`,
			[]coordination.ConfigAgent{{ID: "eden", Name: "이든"}, {ID: "seum", Name: "세움"}}},
		{"utility", `{"agents":{"list":[{"id":"explorer","kind":"utility"},{"id":"quick","utility":true}]}}`,
			[]coordination.ConfigAgent{{ID: "explorer", Kind: coordination.KindUtility}, {ID: "quick", Utility: true}}},
		{"older map, by key", `{"agents":{"seum":{"model":"x"},"eden":{"id":"Eden"},"defaults":{"model":"x"},"version":2}}`,
			[]coordination.ConfigAgent{{ID: "Eden"}, {ID: "seum"}}},
		{"no agents", `{"session":{}}`, []coordination.ConfigAgent{}},
		{"as people write it", "{agents: {list: [{id: 'eden', name: '이든',}]}} // the team", []coordination.ConfigAgent{{ID: "eden", Name: "이든"}}},
		{"with keys of others", `{"newInNextRelease":{"x":1},"agents":{"list":[{"id":"eden","shoeSize":44}]}}`, []coordination.ConfigAgent{{ID: "eden"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readTeam(writeConfig(t, tt.text), os.Getenv, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Agents); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.Hash == "" || got.Source != settings.FileName || got.EventRole != coordination.RoleObservability {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestReadTeamRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"agents":{"list":[{"name":"eden"},{"id":"seum"}]}}`, `{"agents":{"seum":{"model":"x"},"eden":{}}}`} {
		if _, err := readTeam(writeConfig(t, text), os.Getenv, slog.New(slog.DiscardHandler)); err == nil || exitCode(err) != exitConfig {
			t.Errorf("%s leaves an agent out: %v", text, err)
		}
	}
	path := writeConfig(t, "{agents: {list: [{id: 7},\n{id: 'a'}, {id: 'A'}]}}")
	_, err := readTeam(path, os.Getenv, slog.New(slog.DiscardHandler))
	var bad *config.SettingError
	if !errors.As(err, &bad) || errors.Is(err, os.ErrNotExist) || exitCode(err) != exitConfig {
		t.Fatalf("%v", err)
	}
	for _, where := range []string{path + ":1:23: agents.list[0].id", path + ":2:12: agents.list[2]"} {
		if !strings.Contains(err.Error(), where) {
			t.Errorf("%v does not name %s", err, where)
		}
	}
}

func TestReadTeamMissing(t *testing.T) {
	t.Parallel()
	if _, err := readTeam(filepath.Join(t.TempDir(), settings.FileName), os.Getenv, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
