package main

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/internal/systemd"
)

// stepsOf lists the commands that install the service. flags are the flags given to this command.
func stepsOf(u *systemd.Unit, flags string) string {
	dir, ctl, sudo, journal := "/etc/systemd/system", "systemctl", "sudo ", "journalctl"
	if u.Personal {
		dir, ctl, sudo, journal = "~/.config/systemd/user", "systemctl --user", "", "journalctl --user"
	}
	var b strings.Builder
	step := func(what, command string) { fmt.Fprintf(&b, "# %s\n%s\n", what, command) }
	if u.Personal {
		step("Keep your services running while you are logged out", "loginctl enable-linger")
		step("Write the unit", "mkdir -p "+dir+" && "+shellQuote(u.Binary)+" service unit"+flags+" > "+dir+"/openclawd.service")
	} else {
		if u.RunAs != "" {
			step("Create the user, if it does not exist", "id "+shellQuote(u.RunAs)+" || sudo useradd --system --home-dir "+shellQuote(u.StateDir)+" "+shellQuote(u.RunAs))
		}
		step("Create the state directory and its configuration, if it does not exist",
			"test -e "+shellQuote(u.StateDir)+" || { sudo install -d -m 0700 -o "+shellQuote(u.RunAs)+" "+shellQuote(u.StateDir)+" && sudo -u "+
				shellQuote(u.RunAs)+" "+shellQuote(u.Binary)+" init --state-dir "+shellQuote(u.StateDir)+"; }")
		step("Write the unit", shellQuote(u.Binary)+" service unit"+flags+" | sudo tee "+dir+"/openclawd.service > /dev/null")
	}
	step("Check it", "systemd-analyze"+strings.TrimPrefix(ctl, "systemctl")+" verify "+dir+"/openclawd.service")
	step("Start it, now and at every boot", sudo+ctl+" daemon-reload && "+sudo+ctl+" enable --now openclawd")
	step("Show its status", ctl+" status openclawd; "+journal+" -u openclawd -n 50")
	return b.String()
}
