#!/bin/sh
# The log of a team is never removed with the program.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
case "$1" in
  purge) echo "openclawd: /var/lib/openclawd and the user openclawd are kept; remove them yourself if nothing in them is needed" ;;
esac
