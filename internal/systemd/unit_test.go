package systemd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// parseUnit reads a unit as systemd does: sections of assignments. It fails on what systemd would ignore.
func parseUnit(t *testing.T, text string) map[string]map[string][]string {
	t.Helper()
	sections, section := map[string]map[string][]string{}, ""
	for n, line := range strings.Split(text, "\n") {
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			sections[section] = map[string][]string{}
		case !assigned || section == "" || !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(key):
			t.Errorf("line %d: %q is no assignment", n+1, line)
		default:
			sections[section][key] = append(sections[section][key], value)
		}
	}
	return sections
}

func someUnit() *Unit {
	return &Unit{RunAs: "openclaw", Binary: "/usr/local/bin/openclawd", StateDir: "/home/openclaw/.openclaw", Writes: []string{"/home/openclaw/.openclaw"}}
}

func TestUnitKeepsTheServiceRunningAndAlone(t *testing.T) {
	t.Parallel()
	sections := parseUnit(t, someUnit().Text())
	service := sections["Service"]
	for key, want := range map[string]string{
		"Type": "notify", "NotifyAccess": "main", "Restart": "on-failure", "User": "openclaw", "UMask": "0077",
		"RestartPreventExitStatus": ExitsOfHands,
		"ExecStart":                "/usr/local/bin/openclawd serve --state-dir /home/openclaw/.openclaw",
		"ExecReload":               "/bin/kill -HUP $MAINPID",
		"NoNewPrivileges":          "yes", "ProtectSystem": "strict", "ProtectHome": "read-only", "PrivateTmp": "yes", "PrivateDevices": "yes",
		"CapabilityBoundingSet": "", "ReadWritePaths": "/home/openclaw/.openclaw",
	} {
		if got := service[key]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for name, section := range sections {
		for key, values := range section {
			if len(values) > 1 {
				t.Errorf("[%s] has %s %d times, want it once", name, key, len(values))
			}
		}
	}
	if got := sections["Unit"]["StartLimitIntervalSec"]; len(got) != 1 || got[0] != "0" {
		t.Errorf("StartLimitIntervalSec is %q: systemd would give up on what may come right", got)
	}
	const drain, stalled = 5, 30 // of the server, in seconds
	if StopSec < 2*drain || WatchdogSec < 2*stalled {
		t.Errorf("stopped after %d s, watched for %d s: a server that drains, or waits for a slow disk, would be killed", StopSec, WatchdogSec)
	}
}

// What the server starts inherits the unit: Node compiles at run time, and bwrap makes namespaces, brings up a loopback, mounts, names
// its host, and mounts a /proc, which the kernel refuses where parts of the present one are covered. Tried with systemd 252.
func TestUnitLetsToolsRun(t *testing.T) {
	t.Parallel()
	for _, personal := range []bool{false, true} {
		u := someUnit()
		u.Personal = personal
		service := parseUnit(t, u.Text())["Service"]
		if found := Breaking(u.Text()); found != nil {
			t.Errorf("it has %q", found)
		}
		for key, needed := range map[string][]string{
			"RestrictAddressFamilies": {"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"},
			"SystemCallFilter":        {"@system-service", "@mount", "sethostname", "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
		} {
			if got := service[key]; len(got) != 1 || !cmp.Equal(strings.Fields(got[0]), needed) {
				t.Errorf("%s is %q, want %q", key, got, needed)
			}
		}
	}
}

func TestBreakingSettingsAreFound(t *testing.T) {
	t.Parallel()
	const old = "[Service]\n# ProcSubset=pid\nMemoryDenyWriteExecute=yes\n RestrictNamespaces=~user\nProtectKernelLogs=no\nPrivateUsers=\nNoNewPrivileges=yes\nProtectHostname=true"
	if got, want := Breaking(old), []string{"MemoryDenyWriteExecute=yes", "RestrictNamespaces=~user", "ProtectHostname=true"}; !cmp.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// A user's own manager may not do all that the system's may: what it would refuse is left away.
func TestUnitOfAUserAsksForNothingThatNeedsRoot(t *testing.T) {
	t.Parallel()
	u := someUnit()
	u.Personal, u.RunAs, u.Follow = true, "", true
	service := parseUnit(t, u.Text())["Service"]
	for _, setting := range systemHardening {
		if key, _, _ := strings.Cut(setting, "="); service[key] != nil {
			t.Errorf("it has %s", key)
		}
	}
	for _, key := range []string{"User", "ReadWritePaths"} {
		if service[key] != nil {
			t.Errorf("it has %s", key)
		}
	}
	for _, setting := range hardening {
		if key, value, _ := strings.Cut(setting, "="); len(service[key]) != 1 || service[key][0] != value {
			t.Errorf("%s is %q, want %q", key, service[key], value)
		}
	}
}

// wordsOfUnit reads the words of a unit's value as systemd does, specifiers too.
func wordsOfUnit(value string) (all []string) {
	var word strings.Builder
	quoted, started := false, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\':
			i++
			word.WriteByte(value[i])
		case c == '"':
			quoted, started = !quoted, true
		case c == '%':
			i++ // %% is the only one that we write
			word.WriteByte('%')
		case (c == ' ' || c == '\t') && !quoted:
			if started {
				all = append(all, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if started {
		all = append(all, word.String())
	}
	return all
}

func TestUnitQuoting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + rapid.StringMatching(`[a-z /"'\\%$;#=한글]{0,20}[a-z]`).Draw(t, "path")
		if got := wordsOfUnit("/bin/x " + unitQuote(path) + " y"); !cmp.Equal(got, []string{"/bin/x", path, "y"}) {
			t.Errorf("%q is read as %q", path, got)
		}
		u := &Unit{Binary: path, StateDir: path, DB: path}
		if got := wordsOfUnit(strings.ReplaceAll(u.command(), "$$", "$")); !cmp.Equal(got, []string{path, "serve", "--state-dir", path, "--db", path}) {
			t.Errorf("the command line of %q is read as %q", path, got)
		}
	})
}

// The unit in the handbook is the one that is printed.
func TestHandbookShowsTheUnitThatIsPrinted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(text), "```ini\n# openclawd service unit")
	shown, _, ended := strings.Cut(shown, "```\n")
	if !found || !ended {
		t.Fatal("docs/operations/install.md shows no unit")
	}
	if diff := cmp.Diff(someUnit().Text(), "# openclawd service unit"+shown); diff != "" {
		t.Errorf("docs/operations/install.md, -printed +shown:\n%s", diff)
	}
}
