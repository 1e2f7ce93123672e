package main

import (
	"errors"
	"testing"

	"github.com/pronto-lab/openclawd/config"
)

func TestPastSize(t *testing.T) {
	t.Parallel()
	const database = 12_345
	for text, want := range map[string]int64{"database": database, " Database ": database, "0": 0, "4096": 4096, "1KB": 1 << 10, "500MB": 500 << 20, "2 gb": 2 << 30, "1TB": 1 << 40} {
		if limit, err := checkPastSize(text); err != nil || limit(database) != want {
			t.Errorf("%q: %v, want %d", text, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "1.5GB", "GB", "10PB", "99999999999999999999", "9000000TB", "5 000"} {
		var wrong *config.SettingError
		if _, err := checkPastSize(text); !errors.As(err, &wrong) || wrong.Setting != "--past-size" || wrong.Value != text || wrong.HintText == "" {
			t.Errorf("%q: %v, want a SettingError", text, err)
		}
	}
}
