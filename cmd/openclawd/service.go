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
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/server/settings"
)

func newService(p *process) *cobra.Command {
	return newGroup("service", "Run the server as a systemd service", newServiceUnit(p), newServiceInstall(p))
}

// serviceFlags holds the flags of the service commands.
type serviceFlags struct {
	stateDir, db, runAs, binary string
	user, follow                bool
}

func (s *serviceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	addDB(cmd, &s.db)
	flags.StringVar(&s.runAs, "run-as", "", "`NAME` of the user that the service runs as (default: the current user); not with --user")
	flags.StringVar(&s.binary, "exec", "", "`FILE` to run (default: this program)")
	flags.BoolVar(&s.user, "user", false, "a unit of the user's own manager, for systemctl --user")
	flags.BoolVar(&s.follow, "follow", false, "serve --follow: another gateway produces the events")
}

func newServiceUnit(p *process) *cobra.Command {
	var s serviceFlags
	cmd := &cobra.Command{
		Use:   "unit",
		Short: "Print a systemd unit",
		Long: `Prints a unit that runs openclawd serve on the state directory. Nothing is installed: openclawd service install shows how.

The server reports readiness, status and watchdog pings to systemd (Type=notify, WatchdogSec). It is restarted after a failure, but not after
exit codes 2 and 78, which need manual action. It may write only to its directories: the state directory, the database's directory, and
workspaces that openclaw.json places elsewhere. Print the unit again after changing these.

Exit codes: 0 done; 78 a path is not allowed in a unit, or the service would run as root.`,
		Example: `  openclawd service unit --run-as openclaw --state-dir /var/lib/openclaw | sudo tee /etc/systemd/system/openclawd.service
  openclawd service unit --user --follow > ~/.config/systemd/user/openclawd.service`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			u, err := p.unit(s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(p.stdout, u.Text())
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
		Short: "Show how to install the service; change nothing",
		Long: `Prints the commands that install, start and monitor the service, for you to run. Nothing is done.

Exit codes: as of openclawd service unit.`,
		Example: `  openclawd service install --run-as openclaw --state-dir /var/lib/openclaw
  openclawd service install --user --follow`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := p.unit(s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(p.stdout, stepsOf(u, flagsGiven(cmd)))
			return err
		},
	}
	s.add(cmd)
	return cmd
}

// flagsGiven repeats the given flags, quoted for a shell.
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

// shellQuote quotes a text as one word for a POSIX shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// unit collects the values of the unit.
func (p *process) unit(s serviceFlags) (*systemd.Unit, error) {
	if s.user && s.runAs != "" {
		return nil, &usageError{command: "openclawd service", err: errors.New("--user makes a unit of your own service manager, which runs it as you: omit --run-as")}
	}
	u := &systemd.Unit{Personal: s.user, Follow: s.follow, RunAs: s.runAs}
	if !u.Personal && u.RunAs == "" {
		me, err := user.Current()
		if err != nil {
			return nil, &config.SettingError{Setting: "--run-as", Err: err, HintText: "name the user that the service runs as"}
		}
		u.RunAs = me.Username
	}
	if !u.Personal {
		if err := checkUser(u.RunAs); err != nil {
			return nil, &config.SettingError{Setting: "--run-as", Value: u.RunAs, Err: err, HintText: "name the user that the state directory belongs to, e.g. --run-as openclaw"}
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
			return nil, &config.SettingError{Setting: "--exec", Err: err, HintText: "name the file to run"}
		}
	}
	var errs [3]error
	u.Binary, errs[0] = unitPath("--exec", s.binary)
	u.StateDir, errs[1] = unitPath("--state-dir", stateDir)
	if s.db != "" {
		u.DB, errs[2] = unitPath("--db", s.db)
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	u.Writes = p.written(u)
	return u, nil
}

// checkUser rejects names that a unit cannot contain, and root by name or number.
func checkUser(name string) error {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`_.-@\`, r)
	}
	switch {
	case name == "root", name != "" && strings.Trim(name, "0") == "":
		return errors.New("agents would have the rights of root")
	case name == "", strings.HasPrefix(name, "-"), strings.ContainsFunc(name, odd):
		return errors.New("not a valid user name")
	}
	return nil
}

// unitPath makes a path absolute, as a unit needs, and rejects control characters.
func unitPath(flag, path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err == nil && strings.ContainsFunc(whole, unicode.IsControl) {
		err = errors.New("a path with control characters is not allowed in a unit")
	}
	if err != nil {
		return "", &config.SettingError{Setting: flag, Value: path, Err: err, HintText: "choose another path"}
	}
	return whole, nil
}

// written lists the directories that the server writes to, none inside another: the state directory, the database's directory, and the
// workspaces of the current configuration.
func (p *process) written(u *systemd.Unit) []string {
	dirs := []string{u.StateDir}
	if u.DB != "" {
		dirs = append(dirs, filepath.Dir(u.DB))
	}
	if !u.Follow {
		loaded, _ := config.Load(settings.File(u.StateDir), p.getenv)
		for i := range loaded.Agents {
			home := prompt.Directory(loaded, u.StateDir, cmp.Or(p.getenv("HOME"), u.StateDir), loaded.Agents[i].ID)
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
