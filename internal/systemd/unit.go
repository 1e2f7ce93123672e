// Package systemd writes the unit of a service.
package systemd

import (
	"fmt"
	"strings"
)

// Unit describes a systemd unit that serves a state directory.
type Unit struct {
	Personal         bool // for a user's own service manager
	Follow           bool
	RunAs            string // "" if Personal
	Binary, StateDir string
	DB               string   // "" for the one in the state directory
	Writes           []string // directories that the server writes to
}

// Timeouts of the service, in seconds.
const (
	watchdogSec  = 60   // more than twice the time after which a transaction counts as hung
	RestartSec   = 10   // more than the startup of an up-to-date server takes
	startSec     = 1800 // the first start of a new version rebuilds the tables before it answers
	StopSec      = 30   // more than the shutdown of requests, runs, bots and files may take
	exitsOfHands = "2 78"
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
	line("WatchdogSec=%d", watchdogSec)
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
	line("RestartPreventExitStatus=%s", exitsOfHands)
	line("TimeoutStartSec=%d", startSec)
	line("TimeoutStopSec=%d", StopSec)
	line("")
	line("UMask=0077")
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
