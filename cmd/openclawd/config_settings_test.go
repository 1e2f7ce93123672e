package main

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestWhoSetsASetting(t *testing.T) {
	t.Parallel()
	env := map[string]string{"TASK_MONITOR_PORT": "5000", "TASK_MONITOR_WRITE_TOKEN": " from-env\n", "TASK_HUB_URL": "http://hub:1"}
	p, _ := testProgram(t)
	if err := os.WriteFile(configPath(p.opts.StateDir), []byte(`{taskMonitor: {host: '127.0.0.2', port: 4000, writeToken: 'from-file', taskHubUrl: 'http://file'}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag         string
		getenv       func(string) string
		api, apiFrom string
		token, hub   string
	}{
		{"127.0.0.1:0", func(name string) string { return env[name] }, "127.0.0.1:0", "--api", "from-env", "http://hub:1"},
		{"", func(name string) string { return env[name] }, "127.0.0.2:5000", "openclaw.json taskMonitor.host, TASK_MONITOR_PORT", "from-env", "http://hub:1"},
		{"", nil, "127.0.0.2:4000", "openclaw.json taskMonitor.host, openclaw.json taskMonitor.port", "from-file", "http://file"},
	} {
		opts := p.opts
		opts.API, opts.Getenv = c.flag, c.getenv
		one := New(opts)
		if err := one.configure(); err != nil {
			t.Fatal(err)
		}
		s := one.settings
		if s.api.value != c.api || s.api.source != c.apiFrom || s.token.value.Reveal() != c.token || s.taskHub.value != c.hub {
			t.Errorf("%q: %+v", c.flag, s)
		}
	}
	opts := p.opts
	opts.Getenv = func(name string) string {
		return map[string]string{"TASK_HUB_URL": "http://me:hunter2hunter2@hub"}[name]
	}
	var bad *configError
	if err := New(opts).configure(); !errors.As(err, &bad) || bad.setting != "TASK_HUB_URL" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
