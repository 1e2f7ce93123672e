#!/usr/bin/env bash
# Installs the packages for linux/amd64 as a person would, each where there is nothing but Debian 12 and an empty home, and times the first
# answer of `openclawd agent hello`: archive, .deb and .rpm in roots of their own (needs root, debootstrap and its mirror), install.sh
# (needs curl) and the packages for npm (needs Node) in a home of their own, without a network. What cannot be tried is said.
#
# The packages for npm are tried by npm install, and by npx as the README says it. With a second argument, a directory with older packages, archive, .deb and .rpm are installed from there first and given data, which
# the upgrade must keep. ROOT=DIR is a fresh Debian 12 to copy instead of asking the mirror for each run.
#
#   packaging/try.sh dist [OLDER]
set -euo pipefail
dist="$(realpath "${1:?usage: packaging/try.sh DIST [OLDER]}")"
older="${2:+$(realpath "$2")}"
limit=60 # seconds to the first answer
work="$(mktemp -d)"
pids=() mounts=() untried=()
cleanup() {
  for pid in "${pids[@]}"; do
    if kill "$pid" 2>/dev/null; then wait "$pid" 2>/dev/null || true; fi
  done
  for mounted in "${mounts[@]}"; do umount "$mounted" || true; done
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

fail() {
  echo "error: $1" >&2
  exit 1
}

# The person who tries a package: the words before each command, and the flags of its team.
who=() team=()
run() { "${who[@]}" "$@" "${team[@]}"; }

serve() {
  : >"$work/serve.log" # what the last server said must not be read for this one's words
  "${who[@]}" openclawd serve "$@" "${team[@]}" --api 127.0.0.1:0 --gateway 127.0.0.1:0 >>"$work/serve.log" 2>&1 &
  pids+=($!)
}

# npx does not pass SIGTERM on, so that its server is told itself.
halt() {
  local own
  own="$(pgrep -f "^${home:-/none}/[.]npm/_npx/[^ ]*/openclawd serve" || true)"
  kill "${own:-${pids[-1]}}"
  wait "${pids[-1]}" || fail "the server ended with code $?: $(tail -n 3 "$work/serve.log")"
  unset 'pids[-1]'
}

# first_answer FROM: asks until an agent answers, and compares the seconds since FROM with the limit
first_answer() {
  local answer
  until answer="$(run openclawd agent hello 2>&1)"; do
    [ $((SECONDS - $1)) -le $limit ] || fail "no answer within $limit s: $answer"
    sleep 0.2
  done
  echo "first answer after $((SECONDS - $1)) s: ${answer%%$'\n'*}"
}

events() { run openclawd sql --format csv 'SELECT count(*) FROM events' | tail -n 1 | tr -d '\r'; }

# fresh_root NAME: a Debian 12 of its own, with a person without a home's content
fresh_root() {
  root="$work/$1"
  cp -a "$base" "$root"
  chroot "$root" useradd --create-home --skel /nothing person
  mount -t proc proc "$root/proc"
  mounts+=("$root/proc")
}

# install_FORMAT DIR installs a package from DIR, or upgrades to it; first_FORMAT does what else comes before the server's first start.
install_archive() { tar -xzf "$1/openclawd-linux-amd64.tar.gz" -C "$root/usr/local/bin" --no-same-owner openclawd; }
first_archive() {
  who=(chroot --userspec=person:person "$root" env -i "PATH=$PATH" HOME=/home/person) team=()
  run openclawd init </dev/null
}

install_deb() {
  cp "$1/openclawd-linux-amd64.deb" "$root/tmp/"
  chroot "$root" dpkg -i /tmp/openclawd-linux-amd64.deb
}
first_deb() {
  state=/var/lib/openclawd
  who=(chroot --userspec=openclawd:openclawd "$root" env -i "PATH=$PATH" "HOME=$state") team=(--state-dir "$state")
}

# rpm of Debian does not know what dpkg has installed.
install_rpm() {
  cp "$1/openclawd-linux-amd64.rpm" "$root/tmp/"
  chroot "$root" rpm -U --nodeps /tmp/openclawd-linux-amd64.rpm
}
first_rpm() { first_deb; }

remove_archive() { rm "$root/usr/local/bin/openclawd"; }
remove_deb() { chroot "$root" dpkg --purge openclawd; }
remove_rpm() { chroot "$root" rpm -e openclawd; }

# try_package FORMAT: from a fresh root to the first answer, an upgrade, and the removal, which keeps the log
try_package() {
  echo "== $1"
  fresh_root "$1"
  [ "$1" != rpm ] || chroot "$root" apt-get install -y -qq --no-install-recommends rpm >"$work/apt.log" 2>&1 || fail "install rpm: $(tail -n 3 "$work/apt.log")"
  local from=$SECONDS
  "install_$1" "${older:-$dist}"
  "first_$1"
  serve
  first_answer "$from"
  run openclawd backup create
  [ -z "$older" ] || upgrade "$1"
  halt
  run openclawd verify
  "remove_$1"
  [ -n "$(find "$root/home" "$root/var/lib/openclawd" -name openclawd.db -size +0 2>/dev/null)" ] || fail "the database was removed with the program"
  ! chroot "$root" sh -c 'command -v openclawd' || fail "the program is still there"
}

# upgrade FORMAT: installs the newer package while the server runs, and restarts it as systemd would
upgrade() {
  local before after settings="$root/etc/openclawd.env"
  before="$(events)"
  [ ! -e "$settings" ] || echo "# changed by the operator" >>"$settings"
  "install_$1" "$dist"
  [ ! -e "$settings" ] || grep -q "changed by the operator" "$settings" || fail "the upgrade replaced /etc/openclawd.env"
  halt
  serve
  first_answer "$SECONDS"
  after="$(events)"
  [ "$after" -gt "$before" ] || fail "$after events after the upgrade, $before before"
  run openclawd upgrade # what the older program backed up can be brought back
  echo "upgraded with $before events"
}

# suggested matches the whole line in which the server says how to ask an agent.
suggested=$'try: [^\n]*agent "hello" ([^\n]*)\n'

# try_home NAME INSTALL...: from an empty home to the first answer of the sample team
try_home() {
  echo "== $1"
  local from=$SECONDS home="$work/$1"
  mkdir -m 0700 "$home"
  shift
  who=(env -i "PATH=$home/.local/bin:$home/node_modules/.bin:$PATH" "HOME=$home") team=()
  "$@"
  serve --sample
  until [[ "$(cat "$work/serve.log"; echo .)" =~ $suggested ]]; do
    [ $((SECONDS - from)) -le $limit ] || fail "the server did not start: $(cat "$work/serve.log")"
    sleep 0.2
  done
  read -ra team <<<"${BASH_REMATCH[1]}" # the flags that the server prints
  first_answer "$from"
  team=()
  halt
}
install_script() { "${who[@]}" OPENCLAWD_URL="file://$dist" OPENCLAWD_DIR="$home/.local/bin" sh "$dist/install.sh"; }
install_npm() { "${who[@]}" npm install --prefix "$home" --offline --no-audit --no-fund "$dist"/openclawd-[0-9]*.tgz "$dist"/openclawd-linux-x64-*.tgz; }

# As the README says it, with the packages as files in place of a registry.
install_npx() {
  local packages=("$dist"/openclawd-[0-9]*.tgz "$dist"/openclawd-linux-x64-*.tgz)
  who+=(npx --yes --offline "${packages[@]/#/--package=}")
}

if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
  base="${ROOT:-$work/base}"
  [ -n "${ROOT:-}" ] || debootstrap --variant=minbase bookworm "$base" >"$work/debootstrap.log" 2>&1 || fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
  for format in archive deb rpm; do try_package $format; done
else
  untried+=("archive, .deb and .rpm, which need root and debootstrap")
fi
if command -v curl >/dev/null; then try_home script install_script; else untried+=("install.sh, which needs curl"); fi
if command -v npm >/dev/null; then try_home npm install_npm; try_home npx install_npx; else untried+=("npm, which needs Node"); fi
for one in "${untried[@]}"; do echo "NOT TRIED: $one"; done
echo "passed"
