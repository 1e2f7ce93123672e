package config_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/config"
)

func TestAgentsThatMayBeMeant(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Agents = []config.Agent{{ID: "Eden"}, {ID: "seum"}}
	for id, want := range map[string]string{"edne": "eden", "EDN": "eden", "seumm": "seum", "dajim": "", "": ""} {
		if got := c.AgentLike(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}
