package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/internal/durable"
)

// A disk that fails at each step in turn leaves the file as it was, or changed with an error that says so.
func TestWriteSaysWhenAChangeMayBeLost(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	for failing, changed := range map[int]bool{1: false, 2: false, 3: true} {
		path := filepath.Join(t.TempDir(), "openclaw.json")
		if err := os.WriteFile(path, []byte("{a: 1}"), 0o600); err != nil {
			t.Fatal(err)
		}
		next, _, err := ReadDocument(path, func(string) string { return "" }).Patch("{a: 2}")
		if err != nil {
			t.Fatal(err)
		}
		synced := 0
		err = next.write([]byte("{}"), func(dir string) error {
			if synced++; synced == failing {
				return broken
			}
			return durable.SyncDir(dir)
		})
		if !errors.Is(err, broken) || strings.Contains(err.Error(), "may not survive a power cut") != changed {
			t.Errorf("sync %d fails: %v", failing, err)
		}
		text, readErr := os.ReadFile(path)
		note, done, unsettledErr := Unsettled(path)
		if err := errors.Join(readErr, unsettledErr); err != nil || done != changed || (note != nil) != changed || strings.Contains(string(text), "2") != changed {
			t.Errorf("sync %d fails: the file is %s, done %v, %v", failing, text, done, err)
		}
	}
}
