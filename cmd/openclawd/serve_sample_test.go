package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/testdata/sample"
)

func TestSampleHome(t *testing.T) {
	t.Parallel()
	now := sample.Taken.AddDate(0, 3, 0)
	home, err := newSampleHome(now)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	err = fs.WalkDir(os.DirFS(home.Dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			written++
		}
		return err
	})
	if err != nil || written < 15 {
		t.Errorf("%d files written: %v", written, err)
	}
	var state struct{ LastUpdatedMs int64 }
	text, err := os.ReadFile(filepath.Join(home.Dir, "team-state.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	if age := now.UnixMilli() - state.LastUpdatedMs; age != time.Minute.Milliseconds() {
		t.Errorf("the team state is %d ms old, want a minute", age)
	}
	if err := home.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", home.Dir, err)
	}
}
