package main

import (
	"fmt"
	"strings"
)

// unit describes a systemd unit that serves a state directory.
type unit struct {
	personal         bool // for a user's own service manager
	follow           bool
	runAs            string // "" if personal
	binary, stateDir string
	db               string   // "" for the one in the state directory
	writes           []string // directories that the server writes to
}

// Timeouts of the service, in seconds.
const (
	watchdogSec  = 60   // more than twice the time after which a transaction counts as hung
	restartSec   = 10   // more than the startup of an up-to-date server takes
	startSec     = 1800 // the first start of a new version rebuilds the tables before it answers
	stopSec      = 30   // more than the shutdown of requests, runs, bots and files may take
	exitsOfHands = "2 78"
)

// text is the content of the unit file.
func (u *unit) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# openclawd service unit; print it again when directories or workspaces change")
	line("[Unit]")
	line("Description=openclawd: event log, Task-Monitor API and gateway of a team of agents")
	line("Documentation=https://github.com/pronto-lab/openclawd/blob/main/docs/operations/README.md")
	if !u.personal {
		line("Wants=network-online.target")
		line("After=network-online.target")
	}
	line("# No start limit: transient failures are retried forever, wrong settings (RestartPreventExitStatus) never.")
	line("StartLimitIntervalSec=0")
	line("")
	line("[Service]")
	line("Type=notify")
	line("NotifyAccess=main")
	line("WatchdogSec=%d", watchdogSec)
	if !u.personal {
		line("User=%s", u.runAs)
	}
	line("# Secrets, mode 0600: OPENCLAW_GATEWAY_TOKEN=..., TASK_MONITOR_WRITE_TOKEN=..., keys of models.")
	if u.personal {
		line("EnvironmentFile=-%%h/.config/openclawd.env")
	} else {
		line("EnvironmentFile=-/etc/openclawd.env")
	}
	line("Environment=%s", unitQuote("OPENCLAW_STATE_DIR="+u.stateDir))
	line("ExecStart=%s", u.command())
	line("ExecReload=/bin/kill -HUP $MAINPID")
	line("Restart=on-failure")
	line("RestartSec=%d", restartSec)
	line("RestartPreventExitStatus=%s", exitsOfHands)
	line("TimeoutStartSec=%d", startSec)
	line("TimeoutStopSec=%d", stopSec)
	line("")
	line("UMask=0077")
	for _, setting := range hardening {
		line("%s", setting)
	}
	if !u.personal {
		for _, setting := range systemHardening {
			line("%s", setting)
		}
		line("# The directories must exist: openclawd init creates the state directory.")
		for _, dir := range u.writes {
			line("ReadWritePaths=%s", unitQuote(dir))
		}
	}
	line("")
	line("[Install]")
	if u.personal {
		line("WantedBy=default.target")
	} else {
		line("WantedBy=multi-user.target")
	}
	return b.String()
}

// hardening is what every service manager supports.
var hardening = [...]string{
	"NoNewPrivileges=yes", "LockPersonality=yes", "MemoryDenyWriteExecute=yes", "RestrictNamespaces=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes",
	"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6", "SystemCallArchitectures=native", "SystemCallFilter=@system-service", "SystemCallErrorNumber=EPERM",
}

// systemHardening is what only the system's service manager supports everywhere.
var systemHardening = [...]string{
	"CapabilityBoundingSet=", "AmbientCapabilities=", "ProtectSystem=strict", "ProtectHome=read-only", "PrivateTmp=yes", "PrivateDevices=yes",
	"ProtectClock=yes", "ProtectControlGroups=yes", "ProtectHostname=yes", "ProtectKernelLogs=yes", "ProtectKernelModules=yes", "ProtectKernelTunables=yes",
	"ProtectProc=invisible", "RemoveIPC=yes",
}

// command is the command line of the server.
func (u *unit) command() string {
	words := []string{u.binary, "serve", "--state-dir", u.stateDir}
	if u.db != "" {
		words = append(words, "--db", u.db)
	}
	if u.follow {
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

// steps lists the commands that install the service. flags are the flags given to this command.
func (u *unit) steps(flags string) string {
	dir, ctl, sudo, journal := "/etc/systemd/system", "systemctl", "sudo ", "journalctl"
	if u.personal {
		dir, ctl, sudo, journal = "~/.config/systemd/user", "systemctl --user", "", "journalctl --user"
	}
	var b strings.Builder
	step := func(what, command string) { fmt.Fprintf(&b, "# %s\n%s\n", what, command) }
	if u.personal {
		step("Keep your services running while you are logged out", "loginctl enable-linger")
		step("Write the unit", "mkdir -p "+dir+" && "+shellQuote(u.binary)+" service unit"+flags+" > "+dir+"/openclawd.service")
	} else {
		if u.runAs != "" {
			step("Create the user, if it does not exist", "id "+shellQuote(u.runAs)+" || sudo useradd --system --home-dir "+shellQuote(u.stateDir)+" "+shellQuote(u.runAs))
		}
		step("Create the state directory and its configuration, if it does not exist",
			"test -e "+shellQuote(u.stateDir)+" || { sudo install -d -m 0700 -o "+shellQuote(u.runAs)+" "+shellQuote(u.stateDir)+" && sudo -u "+
				shellQuote(u.runAs)+" "+shellQuote(u.binary)+" init --state-dir "+shellQuote(u.stateDir)+"; }")
		step("Write the unit", shellQuote(u.binary)+" service unit"+flags+" | sudo tee "+dir+"/openclawd.service > /dev/null")
	}
	step("Check it", "systemd-analyze"+strings.TrimPrefix(ctl, "systemctl")+" verify "+dir+"/openclawd.service")
	step("Start it, now and at every boot", sudo+ctl+" daemon-reload && "+sudo+ctl+" enable --now openclawd")
	step("Show its status", ctl+" status openclawd; "+journal+" -u openclawd -n 50")
	return b.String()
}
