package server

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

func TestLogLevelsAreOfComponents(t *testing.T) {
	t.Parallel()
	for levels, want := range map[string]string{
		"info":                              "main.info monitor.info import.info",
		"debug":                             "main.debug main.info monitor.debug monitor.info import.debug import.info",
		"info,monitor=debug":                "main.info monitor.debug monitor.info import.info",
		"import=warn":                       "main.info monitor.info",
		"monitor=debug, error ,import=info": "monitor.debug monitor.info import.info",
	} {
		var out bytes.Buffer
		logger, err := NewLogger(&out, levels, "text")
		if err != nil {
			t.Errorf("%s: %v", levels, err)
			continue
		}
		monitor, importer := logger.With("component", "monitor"), logger.With("component", "import", "file", "x")
		for name, l := range map[string]*slog.Logger{"main": logger, "monitor": monitor, "import": importer.WithGroup("g").With("k", 1)} {
			l.Debug(name + ".debug")
			l.Info(name + ".info")
		}
		for _, message := range []string{"main.debug", "main.info", "monitor.debug", "monitor.info", "import.debug", "import.info"} {
			if logged := strings.Contains(out.String(), "msg="+message+" ") || strings.Contains(out.String(), "msg="+message+"\n"); logged != slices.Contains(strings.Fields(want), message) {
				t.Errorf("%s: %s logged: %v", levels, message, logged)
			}
		}
	}
}

func TestLogLevelsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, levels := range []string{"", "loud", "info,info", "monitor=", "monitor=loud", "montior=debug", "info,monitor=debug,monitor=info", "info+1", "=debug", "monitor=debug-2"} {
		_, err := NewLogger(&bytes.Buffer{}, levels, "text")
		var config *config.SettingError
		if !errors.As(err, &config) || config.Setting != "--log-level" || !strings.Contains(config.HintText, "monitor") {
			t.Errorf("%q: %v", levels, err)
		}
	}
}

// The components that can be selected for logging are exactly those that log.
func TestComponentsAreThoseThatLog(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string // a channel's part logs by its name
	for _, c := range coordination.Channels() {
		found = append(found, c.Name)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"component", "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, components()) {
		t.Errorf("the program logs as %v, components lists %v", found, components())
	}
}
