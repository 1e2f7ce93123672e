#!/bin/sh
# Installs openclawd: downloads the archive of this system, checks its SHA-256, and the signature of the checksums if minisign is installed
# and this release is signed, and puts the program into a directory. Nothing else is changed; run it again to upgrade.
#
#   curl -fsSL https://github.com/pronto-lab/openclawd/releases/latest/download/install.sh | sh
#
# OPENCLAWD_VERSION     a tag such as v0.3.0 (default: the latest release)
# OPENCLAWD_DIR         where the program goes (default: /usr/local/bin for root, else ~/.local/bin)
# OPENCLAWD_URL         where the files are (default: the releases of the project)
# OPENCLAWD_PUBLIC_KEY  minisign's public key, in place of the one below; then minisign must be installed and the signature be valid
set -eu

# The public key of the release that this file belongs to; `make release` writes it.
release_key=

fail() {
  echo "error: $1" >&2
  exit 1
}

# fetch URL FILE
fetch() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL --retry 2 -o "$2" "$1" || fail "cannot download $1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1" || fail "cannot download $1"
  else
    fail "neither curl nor wget is installed"
  fi
}

sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

main() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "no program for $(uname -s); on Windows use npx openclawd or the archive" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "no program for $(uname -m); build it from source" ;;
  esac

  releases=https://github.com/pronto-lab/openclawd/releases
  if [ -n "${OPENCLAWD_VERSION:-}" ]; then url="$releases/download/$OPENCLAWD_VERSION"; else url="$releases/latest/download"; fi
  url="${OPENCLAWD_URL:-$url}"
  if [ "$(id -u)" = 0 ]; then dir=/usr/local/bin; else dir="$HOME/.local/bin"; fi
  dir="${OPENCLAWD_DIR:-$dir}"

  temporary="$(mktemp -d)"
  trap 'rm -rf "$temporary"' EXIT
  archive="openclawd-$os-$arch.tar.gz"
  fetch "$url/SHA256SUMS" "$temporary/SHA256SUMS"
  key="${OPENCLAWD_PUBLIC_KEY:-$release_key}"
  if [ -n "$key" ] && command -v minisign >/dev/null 2>&1; then
    fetch "$url/SHA256SUMS.minisig" "$temporary/SHA256SUMS.minisig"
    minisign -V -q -P "$key" -m "$temporary/SHA256SUMS" || fail "the signature of SHA256SUMS is not valid for the key $key"
  elif [ -n "${OPENCLAWD_PUBLIC_KEY:-}" ]; then
    fail "OPENCLAWD_PUBLIC_KEY is set, and minisign is not installed"
  elif [ -n "$key" ]; then
    echo "note: minisign is not installed: only the SHA-256 is checked" >&2
  fi
  fetch "$url/$archive" "$temporary/$archive"
  want="$(sed -n "s/^\([0-9a-f]*\)  $archive\$/\1/p" "$temporary/SHA256SUMS")"
  [ -n "$want" ] || fail "SHA256SUMS does not list $archive"
  got="$(sha256 "$temporary/$archive")"
  [ "$got" = "$want" ] || fail "$archive has SHA-256 $got, want $want"

  tar -xzf "$temporary/$archive" -C "$temporary" openclawd
  mkdir -p "$dir"
  cp "$temporary/openclawd" "$dir/.openclawd.new"
  chmod 0755 "$dir/.openclawd.new"
  mv -f "$dir/.openclawd.new" "$dir/openclawd"
  echo "installed $dir/openclawd"
  case ":$PATH:" in *":$dir:"*) ;; *) echo "add $dir to your PATH" ;; esac
  echo "try: openclawd serve --sample"
}

main # the last line, so that a download that breaks off runs nothing
