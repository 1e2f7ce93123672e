package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that reads what a server has written takes --state-dir, and one that takes --db as well finds its database by either.
func TestEveryCommandTakesAStateDirectory(t *testing.T) {
	t.Parallel()
	needless := map[string]string{
		"backup restore": "it is told which backup, and where to",
		"completion":     "it says how a shell completes",
		"version":        "it says what is running",
	}
	p := &process{stdout: os.Stdout, stderr: os.Stderr, getenv: func(string) string { return "" }}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			walk(below)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "openclawd ")
		if cmd.HasSubCommands() && cmd.Flags().Lookup(jsonFlag) == nil && cmd.Flags().Lookup("db") == nil { // a group
			return
		}
		stateDir, db := cmd.Flags().Lookup("state-dir"), cmd.Flags().Lookup("db")
		if _, excepted := needless[name]; excepted {
			if stateDir != nil || db != nil {
				t.Errorf("%s is excepted, and takes a place", name)
			}
			delete(needless, name)
			return
		}
		if stateDir == nil {
			t.Errorf("%s takes no --state-dir", name)
			return
		}
		flag, own := stateDir.Value.(*stateDirFlag)
		if !own {
			return // it needs the directory itself
		}
		for _, c := range []struct{ args, want string }{
			{"--state-dir x", filepath.Join("x", "openclawd.db")}, {"--state-dir x --db y", "y"}, {"--db y --state-dir x", "y"}, {"--state-dir=", ""},
		} {
			*flag.db, db.Changed = "", false
			if err := cmd.Flags().Parse(strings.Fields(c.args)); err != nil || *flag.db != c.want {
				t.Errorf("%s %s: database %q, want %q: %v", name, c.args, *flag.db, c.want, err)
			}
		}
	}
	walk(newRoot(p))
	for name := range needless {
		t.Errorf("%s is excepted, and is no command", name)
	}
}
