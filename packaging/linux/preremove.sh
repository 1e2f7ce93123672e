#!/bin/sh
# Stops the service before the program is removed, not before an upgrade. dpkg calls it with "remove" or "upgrade", rpm with the number of
# versions that stay.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ -d /run/systemd/system ] || exit 0
systemctl --no-reload disable --now openclawd.service
