package settings

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
)

func TestWhoSetsASetting(t *testing.T) {
	t.Parallel()
	path := File(t.TempDir())
	if err := os.WriteFile(path, []byte(`{taskMonitor: {host: '127.0.0.2', port: 4000, writeToken: 'from-file', taskHubUrl: 'http://file'}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"TASK_MONITOR_PORT": "5000", "TASK_MONITOR_WRITE_TOKEN": " from-env\n", "TASK_HUB_URL": "http://hub:1"}
	for _, c := range []struct {
		flag         string
		env          map[string]string
		api, apiFrom string
		token, hub   string
	}{
		{"127.0.0.1:0", environment, "127.0.0.1:0", "--api", "from-env", "http://hub:1"},
		{"", environment, "127.0.0.2:5000", "openclaw.json taskMonitor.host, TASK_MONITOR_PORT", "from-env", "http://hub:1"},
		{"", nil, "127.0.0.2:4000", "openclaw.json taskMonitor.host, openclaw.json taskMonitor.port", "from-file", "http://file"},
	} {
		getenv := func(name string) string { return c.env[name] }
		loaded, findings := config.Load(path, getenv)
		s := Of(loaded, getenv, c.flag, nil)
		if err := errors.Join(findings.Err(), s.Check()); err != nil {
			t.Fatal(err)
		}
		if s.API != (Sourced[string]{c.api, c.apiFrom}) || s.Token.Value.Reveal() != c.token || s.TaskHub.Value != c.hub {
			t.Errorf("%q: %+v", c.flag, s)
		}
	}
}

func TestSecretsInARefusedAddressAreNotShown(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		return map[string]string{"TASK_HUB_URL": "http://me:hunter2hunter2@hub"}[name]
	}
	s := Of(config.Default(), getenv, "", nil)
	var bad *config.SettingError
	if err := s.Check(); !errors.As(err, &bad) || bad.Setting != "TASK_HUB_URL" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
