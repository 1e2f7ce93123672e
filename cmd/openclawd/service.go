package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
)

func newService(p *process) *cobra.Command {
	return newGroup("service", "Have systemd keep the server running", newServiceUnit(p), newServiceInstall(p))
}

// serviceFlags are those of the commands that describe a service.
type serviceFlags struct {
	stateDir, db, runAs, binary string
	user, follow                bool
}

func (s *serviceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	addDB(cmd, &s.db)
	flags.StringVar(&s.runAs, "run-as", "", "`NAME` of the user that the service runs as (default: who calls this command); not with --user")
	flags.StringVar(&s.binary, "exec", "", "`FILE` to start (default: this program)")
	flags.BoolVar(&s.user, "user", false, "a unit of the user's own manager, for systemctl --user")
	flags.BoolVar(&s.follow, "follow", false, "serve --follow: another gateway produces the events")
}

func newServiceUnit(p *process) *cobra.Command {
	var s serviceFlags
	cmd := &cobra.Command{
		Use:   "unit",
		Short: "Print a unit for systemd",
		Long: `Prints a unit for openclawd serve on the state directory. Nothing is installed: openclawd service install says how.

The server tells systemd when it answers, how it stands and that it is well (Type=notify, WatchdogSec). It is started again after a
failure, but not after exit codes 2 and 78, which need a hand. It may write to its directories only: the state directory, where the
database lies, and the workspaces that openclaw.json names elsewhere. After a change of these print the unit anew.

Exit codes: 0 done; 78 a path cannot stand in a unit, or the service would run as root.`,
		Example: `  openclawd service unit --run-as openclaw --state-dir /var/lib/openclaw | sudo tee /etc/systemd/system/openclawd.service
  openclawd service unit --user --follow > ~/.config/systemd/user/openclawd.service`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			u, err := p.unit(s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(p.stdout, u.text())
			return err
		},
	}
	s.add(cmd)
	return cmd
}

func newServiceInstall(p *process) *cobra.Command {
	var s serviceFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Say how the service is installed; changes nothing",
		Long: `Prints the commands that install, start and look after the service, for you to run. Nothing is done.

Exit codes: as of openclawd service unit.`,
		Example: `  openclawd service install --run-as openclaw --state-dir /var/lib/openclaw
  openclawd service install --user --follow`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := p.unit(s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(p.stdout, u.steps(flagsGiven(cmd)))
			return err
		},
	}
	s.add(cmd)
	return cmd
}

// flagsGiven are the flags of a command line as they were given, for the shell.
func flagsGiven(cmd *cobra.Command) string {
	var given strings.Builder
	for _, name := range []string{"user", "follow", "run-as", "state-dir", "db", "exec"} {
		switch f := cmd.Flags().Lookup(name); {
		case !f.Changed:
		case f.Value.Type() == "bool":
			given.WriteString(" --" + name)
		default:
			given.WriteString(" --" + name + " " + shellQuote(f.Value.String()))
		}
	}
	return given.String()
}

// shellQuote is a text as one word of a POSIX shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// unit finds what the unit has to say.
func (p *process) unit(s serviceFlags) (*unit, error) {
	if s.user && s.runAs != "" {
		return nil, &usageError{command: "openclawd service", err: errors.New("--user is a unit of your own manager, which runs it as you: leave --run-as away")}
	}
	u := &unit{personal: s.user, follow: s.follow, runAs: s.runAs}
	if !u.personal && u.runAs == "" {
		me, err := user.Current()
		if err != nil {
			return nil, &settings.Error{Setting: "--run-as", Err: err, Mend: "name the user that the service runs as"}
		}
		u.runAs = me.Username
	}
	if !u.personal {
		if err := checkUser(u.runAs); err != nil {
			return nil, &settings.Error{Setting: "--run-as", Value: u.runAs, Err: err, Mend: "name the user that the state directory belongs to, e.g. --run-as openclaw"}
		}
	}
	stateDir := s.stateDir
	if stateDir == "" {
		var err error
		if stateDir, err = p.stateDir(); err != nil {
			return nil, err
		}
	}
	if s.binary == "" {
		var err error
		if s.binary, err = os.Executable(); err != nil {
			return nil, &settings.Error{Setting: "--exec", Err: err, Mend: "name the file to start"}
		}
	}
	var errs [3]error
	u.binary, errs[0] = unitPath("--exec", s.binary)
	u.stateDir, errs[1] = unitPath("--state-dir", stateDir)
	if s.db != "" {
		u.db, errs[2] = unitPath("--db", s.db)
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	u.writes = p.written(u)
	return u, nil
}

// checkUser refuses names that a unit cannot hold, and root by its name or its number.
func checkUser(name string) error {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`_.-@\`, r)
	}
	switch {
	case name == "root", name != "" && strings.Trim(name, "0") == "":
		return errors.New("agents would have the rights of root")
	case name == "", strings.HasPrefix(name, "-"), strings.ContainsFunc(name, odd):
		return errors.New("that is no name of a user")
	}
	return nil
}

// unitPath is a path as it may stand in a unit: whole, for the service starts elsewhere, and of one line.
func unitPath(flag, path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err == nil && strings.ContainsFunc(whole, unicode.IsControl) {
		err = errors.New("a unit cannot name a path with control characters")
	}
	if err != nil {
		return "", &settings.Error{Setting: flag, Value: path, Err: err, Mend: "name another path"}
	}
	return whole, nil
}

// written lists the directories that the server writes to, none inside another: the state directory, that of the database, and the
// workspaces of the configuration as it is now.
func (p *process) written(u *unit) []string {
	dirs := []string{u.stateDir}
	if u.db != "" {
		dirs = append(dirs, filepath.Dir(u.db))
	}
	if !u.follow {
		loaded, _ := config.Load(settings.File(u.stateDir), p.getenv)
		for i := range loaded.Agents {
			home := prompt.Directory(loaded, u.stateDir, cmp.Or(p.getenv("HOME"), u.stateDir), loaded.Agents[i].ID)
			if filepath.IsAbs(home) && !strings.ContainsFunc(home, unicode.IsControl) {
				dirs = append(dirs, home)
			}
		}
	}
	slices.Sort(dirs)
	var outer []string
	for _, dir := range dirs {
		if !slices.ContainsFunc(outer, func(o string) bool { return dir == o || strings.HasPrefix(dir, strings.TrimSuffix(o, "/")+"/") }) {
			outer = append(outer, dir)
		}
	}
	return outer
}
