package backup

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Root must not make a backup among those of another user, whose server could not open it.
func TestRootMakesNoBackupsOfOthers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // there is no root
	}
	state, own := t.TempDir(), t.TempDir()
	db := filepath.Join(state, "openclawd.db")
	if err := os.WriteFile(db, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // else these files belong to another user than root already
		for _, path := range []string{state, db} {
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
	}
	const root, another = 0, 4321
	for name, c := range map[string]struct {
		euid    int
		db, dir string
		refused bool
	}{
		"beside the database":     {root, db, filepath.Join(state, "backups"), true},
		"in the same directory":   {root, db, state, true},
		"as another user":         {another, db, state, false},
		"to a directory of root":  {root, db, "/", false},
		"of a database of root":   {root, "/", filepath.Join(own, "backups"), false},
		"of a database not there": {root, filepath.Join(own, "none"), own, false},
	} {
		err := checkUser(c.euid, c.db, c.dir)
		wrong := (*WrongUserError)(nil)
		if errors.As(err, &wrong) != c.refused {
			t.Errorf("%s: %v, want refused %v", name, err, c.refused)
		}
		if c.refused && (wrong.Owner == "" || wrong.Dir != state) {
			t.Errorf("%s: %+v", name, wrong)
		}
	}
}
