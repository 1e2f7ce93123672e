// Package systemd writes the unit of the service, and the commands that install it.
package systemd

import (
	"fmt"
	"slices"
	"strings"
)

// Unit describes a systemd unit that serves a state directory.
type Unit struct {
	Personal         bool // for a user's own service manager
	Follow           bool
	RunAs            string // "" if personal
	Binary, StateDir string
	DB               string   // "" for the one in the state directory
	Writes           []string // directories that the server writes to
}

// Timeouts of the service, in seconds.
const (
	WatchdogSec  = 60     // more than twice the time after which a transaction counts as hung
	RestartSec   = 10     // more than the startup of an up-to-date server takes
	StartSec     = 1800   // the first start of a new version rebuilds the tables before it answers
	StopSec      = 30     // more than the shutdown of requests, runs, bots and files may take
	ExitsOfHands = "2 78" // codes after which only a person can help: it is not started again
)

// Text is the content of the unit file.
func (u *Unit) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# openclawd service unit; print it again when directories or workspaces change")
	line("[Unit]")
	line("Description=openclawd: event log, Task-Monitor API and gateway of a team of agents")
	line("Documentation=https://github.com/pronto-lab/openclawd/blob/main/docs/operations/README.md")
	if !u.Personal {
		line("Wants=network-online.target")
		line("After=network-online.target")
	}
	line("# No start limit: transient failures are retried forever, wrong settings (RestartPreventExitStatus) never.")
	line("StartLimitIntervalSec=0")
	line("")
	line("[Service]")
	line("Type=notify")
	line("NotifyAccess=main")
	line("WatchdogSec=%d", WatchdogSec)
	if !u.Personal {
		line("User=%s", u.RunAs)
	}
	line("# Secrets, mode 0600: OPENCLAW_GATEWAY_TOKEN=..., TASK_MONITOR_WRITE_TOKEN=..., keys of models.")
	if u.Personal {
		line("EnvironmentFile=-%%h/.config/openclawd.env")
	} else {
		line("EnvironmentFile=-/etc/openclawd.env")
	}
	line("Environment=%s", unitQuote("OPENCLAW_STATE_DIR="+u.StateDir))
	line("ExecStart=%s", u.command())
	line("ExecReload=/bin/kill -HUP $MAINPID")
	line("Restart=on-failure")
	line("RestartSec=%d", RestartSec)
	line("RestartPreventExitStatus=%s", ExitsOfHands)
	line("TimeoutStartSec=%d", StartSec)
	line("TimeoutStopSec=%d", StopSec)
	line("")
	line("UMask=0077")
	for _, comment := range childNeeds {
		line("%s", comment)
	}
	for _, setting := range hardening {
		line("%s", setting)
	}
	if !u.Personal {
		for _, setting := range systemHardening {
			line("%s", setting)
		}
		line("# The directories must exist: openclawd init creates the state directory.")
		for _, dir := range u.Writes {
			line("ReadWritePaths=%s", unitQuote(dir))
		}
	}
	line("")
	line("[Install]")
	if u.Personal {
		line("WantedBy=default.target")
	} else {
		line("WantedBy=multi-user.target")
	}
	return b.String()
}

// hardening is what every service manager supports. All of it holds for what the server starts too, programs of MCP and commands in a
// sandbox, so that some settings of other services are missing; childNeeds says which, and why.
var hardening = [...]string{
	"NoNewPrivileges=yes", "LockPersonality=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes",
	"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", "SystemCallArchitectures=native",
	"SystemCallFilter=@system-service @mount sethostname seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
	"SystemCallErrorNumber=EPERM",
}

// childNeeds explains in the unit what is missing in it, so that operators do not add it.
var childNeeds = [...]string{
	"# These hold for tools of agents too, so they lack what would break them: MemoryDenyWriteExecute= (Node and other compilers at run time),",
	"# RestrictNamespaces=, ProtectHostname=, ProtectKernelTunables= and ProtectKernelLogs= (the sandbox of commands has namespaces, a host name",
	"# and a /proc of its own). For the same reason there are AF_NETLINK, @mount, seccomp and Landlock. None of them needs or gives a privilege.",
}

// breaking are settings under which some tools of agents cannot run.
var breaking = [...]string{"MemoryDenyWriteExecute", "RestrictNamespaces", "ProtectHostname", "ProtectKernelTunables", "ProtectKernelLogs", "PrivateUsers",
	"PrivateNetwork", "ProcSubset", "RootDirectory"}

// Breaking lists the settings of a unit under which tools of agents cannot run: units of earlier versions had some.
func Breaking(text string) (settings []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, "=")
		if slices.Contains(breaking[:], key) && !slices.Contains([]string{"", "0", "no", "false", "off", "all"}, value) {
			settings = append(settings, line)
		}
	}
	return settings
}

// systemHardening is what only the system's service manager supports everywhere.
var systemHardening = [...]string{
	"CapabilityBoundingSet=", "AmbientCapabilities=", "ProtectSystem=strict", "ProtectHome=read-only", "PrivateTmp=yes", "PrivateDevices=yes",
	"ProtectClock=yes", "ProtectControlGroups=yes", "ProtectKernelModules=yes", "ProtectProc=invisible", "RemoveIPC=yes",
}

// command is the command line of the server.
func (u *Unit) command() string {
	words := []string{u.Binary, "serve", "--state-dir", u.StateDir}
	if u.DB != "" {
		words = append(words, "--db", u.DB)
	}
	if u.Follow {
		words = append(words, "--follow")
	}
	for i, word := range words {
		words[i] = strings.ReplaceAll(unitQuote(word), "$", "$$")
	}
	return strings.Join(words, " ")
}

// unitQuote quotes a text as one word of a unit: systemd expands % and splits at spaces.
func unitQuote(s string) string {
	s = strings.ReplaceAll(s, "%", "%%")
	if !strings.ContainsAny(s, " \t\"'\\;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Steps lists the commands that install the service. flags are the flags given to this command.
func (u *Unit) Steps(flags string) string {
	dir, ctl, sudo, journal := "/etc/systemd/system", "systemctl", "sudo ", "journalctl"
	if u.Personal {
		dir, ctl, sudo, journal = "~/.config/systemd/user", "systemctl --user", "", "journalctl --user"
	}
	var b strings.Builder
	step := func(what, command string) { fmt.Fprintf(&b, "# %s\n%s\n", what, command) }
	if u.Personal {
		step("Keep your services running while you are logged out", "loginctl enable-linger")
		step("Write the unit", "mkdir -p "+dir+" && "+ShellQuote(u.Binary)+" service unit"+flags+" > "+dir+"/openclawd.service")
	} else {
		if u.RunAs != "" {
			step("Create the user, if it does not exist", "id "+ShellQuote(u.RunAs)+" || sudo useradd --system --home-dir "+ShellQuote(u.StateDir)+" "+ShellQuote(u.RunAs))
		}
		step("Create the state directory and its configuration, if it does not exist",
			"test -e "+ShellQuote(u.StateDir)+" || { sudo install -d -m 0700 -o "+ShellQuote(u.RunAs)+" "+ShellQuote(u.StateDir)+" && sudo -u "+
				ShellQuote(u.RunAs)+" "+ShellQuote(u.Binary)+" init --state-dir "+ShellQuote(u.StateDir)+"; }")
		step("Write the unit", ShellQuote(u.Binary)+" service unit"+flags+" | sudo tee "+dir+"/openclawd.service > /dev/null")
	}
	step("Check it", "systemd-analyze"+strings.TrimPrefix(ctl, "systemctl")+" verify "+dir+"/openclawd.service")
	step("Start it, now and at every boot", sudo+ctl+" daemon-reload && "+sudo+ctl+" enable --now openclawd")
	step("Show its status", ctl+" status openclawd; "+journal+" -u openclawd -n 50")
	return b.String()
}

// ShellQuote quotes a text as one word for a POSIX shell.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
