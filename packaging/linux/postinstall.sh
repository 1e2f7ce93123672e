#!/bin/sh
# Runs after installation and upgrade. dpkg calls it with "configure" and the previous version, rpm with the number of installed versions.
# What exists is kept: user, state directory, configuration, database.
set -e
state=/var/lib/openclawd

getent passwd openclawd >/dev/null ||
  useradd --system --user-group --home-dir "$state" --no-create-home --shell /usr/sbin/nologin openclawd
[ -d "$state" ] || install -d -m 0700 -o openclawd -g openclawd "$state"
if [ ! -e "$state/openclaw.json" ]; then
  HOME="$state" runuser -u openclawd -- /usr/bin/openclawd init --yes --state-dir "$state" >/dev/null
fi

upgraded=
case "$1" in
  configure) upgraded="$2" ;;
  1 | '') ;;
  *) upgraded=yes ;;
esac

if [ ! -d /run/systemd/system ]; then
  [ -n "$upgraded" ] ||
    echo "openclawd: systemd is not running; start it with: runuser -u openclawd -- openclawd serve --state-dir $state"
  exit 0
fi
systemctl daemon-reload
if [ -n "$upgraded" ]; then
  systemctl --no-block try-restart openclawd.service # the first start of a version may take long
  # dpkg calls an installation after a removal an upgrade too. The removal disabled the service, and so may have the operator: say it.
  systemctl --quiet is-enabled openclawd.service ||
    echo "openclawd: the service is disabled, as by a removal; to enable and start it: systemctl enable --now openclawd"
  exit 0
fi
systemctl preset openclawd.service
if systemctl --quiet is-enabled openclawd.service; then
  systemctl --no-block start openclawd.service
fi
cat <<TEXT
openclawd: talk to it with: sudo -u openclawd openclawd agent hello --state-dir $state
A built-in script answers until a model is chosen, for example:
  echo ANTHROPIC_API_KEY=... | sudo tee -a /etc/openclawd.env >/dev/null
  sudo -u openclawd openclawd init --yes --force --model anthropic/claude-sonnet-4-5 --state-dir $state
  sudo systemctl restart openclawd
TEXT
