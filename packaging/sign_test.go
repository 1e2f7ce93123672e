package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// somePublicKey and someSignature stand for what minisign makes; standIn for minisign, which agrees to that signature by that key only.
const (
	somePublicKey = "RWSmYMXLbE42MeIIHjB9bJuiZpDynJF7STwq/WUbwtROtc5a99P/mRII"
	standIn       = `#!/bin/sh
op=$1; key=; pub=; file=
while [ $# -gt 0 ]; do case "$1" in -P) key=$2; shift ;; -p) pub=$2; shift ;; -m) file=$2; shift ;; esac; shift; done
case $op in
-R) printf 'untrusted comment: x\n%s\n' RWSmYMXLbE42MeIIHjB9bJuiZpDynJF7STwq/WUbwtROtc5a99P/mRII >"$pub" ;;
-S) cksum <"$file" >"$file.minisig" ;;
-V) [ "$key" = RWSmYMXLbE42MeIIHjB9bJuiZpDynJF7STwq/WUbwtROtc5a99P/mRII ] && [ "$(cksum <"$file")" = "$(cat "$file.minisig")" ] ;;
esac
`
)

func minisignIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "minisign"), []byte(standIn), program); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A signed release says with which key, and its install.sh verifies with it.
func TestSignedReleaseIsVerified(t *testing.T) {
	t.Parallel()
	tools := minisignIn(t)
	r := someRelease(t)
	r.key, r.minisign = "secret.key", []string{filepath.Join(tools, "minisign")}
	for _, step := range []func() error{r.installScript, r.checksums, r.sign} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if said := text(t, r.dist, publicKeyFile); !strings.HasSuffix(said, "\n"+somePublicKey+"\n") {
		t.Errorf("%s says %q", publicKeyFile, said)
	}
	if said := text(t, r.dist, checksumFile); !strings.Contains(said, "  "+publicKeyFile+"\n") || !strings.Contains(said, "  install.sh\n") {
		t.Errorf("the checksums lack the key or the script:\n%s", said)
	}
	path := "PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH")
	script, dir := filepath.Join(r.dist, "install.sh"), filepath.Join(t.TempDir(), "bin")
	if out, err := installWith(t, r, script, dir, path); err != nil || strings.Contains(out, "note:") {
		t.Fatalf("%v: %s", err, out)
	}
	another := "OPENCLAWD_PUBLIC_KEY=" + strings.Replace(somePublicKey, "RWS", "RWT", 1)
	if out, err := installWith(t, r, script, dir, path, another); err == nil || !strings.Contains(out, "the signature of SHA256SUMS is not valid for the key RWT") {
		t.Errorf("with another key: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(r.dist, checksumFile+".minisig"), []byte("0"), document); err != nil {
		t.Fatal(err)
	}
	if out, err := installWith(t, r, script, dir, path); err == nil || !strings.Contains(out, "is not valid") {
		t.Errorf("with another signature: %v: %s", err, out)
	}
}

func TestPublicKeyIsOne(t *testing.T) {
	t.Parallel()
	r := someRelease(t)
	for _, key := range []string{"RW", "untrusted comment", somePublicKey + "\n"} {
		r.publicKey = key
		if err := r.installScript(); err == nil {
			t.Errorf("%q is taken", key)
		}
	}
}

// A changed tree does not get the name of a release.
func TestVersionOfAChangedTree(t *testing.T) {
	t.Parallel()
	for stamped, want := range map[string]string{
		"v1.2.3":       "v1.2.3",
		"v1.2.3+dirty": "",
		"v1.2.3-rc.1":  "v1.2.3-rc.1",
		"v1.2.4-0.20261129094114-3bae2a75aaaa+dirty": "v1.2.4-0.20261129094114-3bae2a75aaaa.dirty",
		"(devel)": "(devel)",
	} {
		if got, err := versionOfBuild(stamped); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", stamped, got, err, want)
		}
	}
}
