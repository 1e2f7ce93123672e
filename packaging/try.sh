#!/usr/bin/env bash
# Installs packages as a person would and times the first answer of an agent: .deb in a fresh Debian (needs root, debootstrap and its
# mirror), and the packages for npm without a network (needs Node). With a second argument, a directory with an older .deb, that one
# is installed first and given data, and the upgrade must keep it.
#
#   packaging/try.sh dist [OLDER]
set -euo pipefail
dist="$(realpath "${1:?usage: packaging/try.sh DIST [OLDER]}")"
older="${2:+$(realpath "$2")}"
limit=60 # seconds to the first answer
work="$(mktemp -d)"
pids=()
cleanup() {
  for pid in "${pids[@]}"; do
    if kill "$pid" 2>/dev/null; then wait "$pid" 2>/dev/null || true; fi
  done
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

fail() {
  echo "error: $1" >&2
  exit 1
}

# first_answer FROM COMMAND...: asks until an agent answers, and compares the seconds since FROM with the limit
first_answer() {
  local from="$1" answer
  shift
  until answer="$("$@" 2>&1)"; do
    [ $((SECONDS - from)) -le $limit ] || fail "no answer within $limit s: $answer"
    sleep 0.2
  done
  echo "first answer after $((SECONDS - from)) s: ${answer%%$'\n'*}"
}

state=/var/lib/openclawd
as_user=(chroot "$work/root" setpriv --reuid openclawd --regid openclawd --clear-groups env "HOME=$state")
ports=(--api 127.0.0.1:0 --gateway 127.0.0.1:0)

serve() {
  "${as_user[@]}" openclawd serve --state-dir $state "${ports[@]}" >"$work/serve.log" 2>&1 &
  pids+=($!)
}

halt() {
  kill "${pids[-1]}"
  wait "${pids[-1]}" || fail "the server ended with code $?: $(tail -n 3 "$work/serve.log")"
  unset 'pids[-1]'
}

try_deb() {
  echo "== .deb in a fresh Debian"
  debootstrap --variant=minbase stable "$work/root" >"$work/debootstrap.log" 2>&1 || fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
  local from=$SECONDS first="$dist"
  [ -z "$older" ] || first="$older"
  cp "$first/openclawd-linux-amd64.deb" "$work/root/tmp/"
  chroot "$work/root" dpkg -i /tmp/openclawd-linux-amd64.deb
  serve
  first_answer "$from" "${as_user[@]}" openclawd agent hello --state-dir $state
  [ -z "$older" ] || upgrade_deb
  "${as_user[@]}" openclawd backup create --state-dir $state
  halt
  "${as_user[@]}" openclawd verify --state-dir $state
  [ "$(stat -c '%U %a' "$work/root$state/openclaw.json" 2>/dev/null)" != "root 644" ] || fail "openclaw.json belongs to root"
  chroot "$work/root" dpkg --purge openclawd
  [ -s "$work/root$state/openclawd.db" ] || fail "the database was removed with the program"
  [ ! -e "$work/root/usr/bin/openclawd" ] || fail "the program is still there"
}

# upgrade_deb upgrades while the server runs, and restarts it as systemd would.
upgrade_deb() {
  local events after
  events="$("${as_user[@]}" openclawd sql --state-dir $state --format csv 'SELECT count(*) FROM events' | tail -n 1 | tr -d '\r')"
  echo "# changed by the operator" >>"$work/root/etc/openclawd.env"
  cp "$dist/openclawd-linux-amd64.deb" "$work/root/tmp/"
  chroot "$work/root" dpkg -i /tmp/openclawd-linux-amd64.deb
  grep -q 'changed by the operator' "$work/root/etc/openclawd.env" || fail "the upgrade replaced /etc/openclawd.env"
  halt
  serve
  first_answer $SECONDS "${as_user[@]}" openclawd agent hello --state-dir $state
  after="$("${as_user[@]}" openclawd sql --state-dir $state --format csv 'SELECT count(*) FROM events' | tail -n 1 | tr -d '\r')"
  [ "$after" -gt "$events" ] || fail "$after events after the upgrade, $events before"
  echo "upgraded with $events events"
}

try_npm() {
  echo "== npm, without a network"
  local from=$SECONDS packages=("$dist"/openclawd-[0-9]*.tgz "$dist"/openclawd-linux-x64-*.tgz)
  mkdir "$work/npm"
  npm install --prefix "$work/npm" --offline --no-audit --no-fund --cache "$work/cache" "${packages[@]}"
  mkdir -m 0700 "$work/home"
  HOME="$work/home" "$work/npm/node_modules/.bin/openclawd" serve --sample "${ports[@]}" >"$work/npm.log" 2>&1 &
  pids+=($!)
  local sample=
  until sample="$(sed -n 's/^try: .*openclawd agent "hello" *//p' "$work/npm.log")" && [ -n "$sample" ]; do
    [ $((SECONDS - from)) -le $limit ] || fail "the server did not start: $(cat "$work/npm.log")"
    sleep 0.2
  done
  # shellcheck disable=SC2086 # the flags that the server prints
  first_answer "$from" env HOME="$work/home" npx --prefix "$work/npm" --no-install openclawd agent hello $sample
  halt
}

[ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || try_deb
! command -v npm >/dev/null || try_npm
echo passed
