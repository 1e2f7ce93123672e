package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const checksumFile = "SHA256SUMS"

// files are the names of all files of the release, without checksums and signature, sorted.
func (r *release) files() (names []string, err error) {
	entries, err := os.ReadDir(r.dist)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != checksumFile && e.Name() != checksumFile+".minisig" {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// checksums writes the file that sha256sum -c reads.
func (r *release) checksums() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	return r.create(checksumFile, func(w io.Writer) error {
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(r.dist, name))
			if err != nil {
				return err
			}
			sum := sha256.Sum256(content)
			if _, err := fmt.Fprintf(w, "%s  %s\n", hex.EncodeToString(sum[:]), name); err != nil {
				return err
			}
		}
		return nil
	})
}

// publicKeyFile is the file of a release with the key that verifies its signature.
const publicKeyFile = "minisign.pub"

var keyPattern = regexp.MustCompile(`^RW[A-Za-z0-9+/]{54}$`)

// installScript writes install.sh with the public key in it, and the key as a file. Without a key it verifies checksums only.
func (r *release) installScript() error {
	script, err := os.ReadFile(filepath.Join(r.source, "packaging", "install.sh"))
	if err != nil {
		return err
	}
	if err := r.choosePublicKey(); err != nil {
		return err
	}
	const place = "\nrelease_key=\n"
	if r.publicKey != "" {
		r.say("public key " + r.publicKey)
		if !bytes.Contains(script, []byte(place)) {
			return errors.New("install.sh has no place for the public key")
		}
		script = bytes.Replace(script, []byte(place), []byte("\nrelease_key="+r.publicKey+"\n"), 1)
		said := "untrusted comment: minisign public key of openclawd\n" + r.publicKey + "\n"
		if err := r.create(publicKeyFile, func(w io.Writer) error { _, err := io.WriteString(w, said); return err }); err != nil {
			return err
		}
	}
	return r.create("install.sh", func(w io.Writer) error { _, err := w.Write(script); return err })
}

// choosePublicKey takes the key from the secret one, unless it is given. minisign asks for the password.
func (r *release) choosePublicKey() error {
	if r.publicKey == "" && r.key != "" {
		dir, err := os.MkdirTemp("", "packaging-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, publicKeyFile)
		if err := r.command(r.minisign, "-R", "-s", r.key, "-p", file); err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, r.publicKey, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	}
	if r.publicKey != "" && !keyPattern.MatchString(r.publicKey) {
		return fmt.Errorf("%q is no public key of minisign: it begins with RW and has 56 characters", r.publicKey)
	}
	return nil
}

// sign signs the checksums, and with them all files, and verifies that as people will. minisign asks for the password of the key.
func (r *release) sign() error {
	if r.key == "" {
		r.say("not signed: no key is given")
		return nil
	}
	sums := filepath.Join(r.dist, checksumFile)
	if err := r.command(r.minisign, "-S", "-s", r.key, "-m", sums, "-t", "openclawd "+r.version); err != nil {
		return err
	}
	return r.command(r.minisign, "-V", "-q", "-P", r.publicKey, "-m", sums)
}
