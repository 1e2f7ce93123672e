package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// sign signs the checksums, and with them all files. minisign asks for the password of the key.
func (r *release) sign() error {
	if r.key == "" {
		r.say("not signed: no key is given")
		return nil
	}
	comment := "openclawd " + r.version
	return r.command(r.minisign, "-S", "-s", r.key, "-m", filepath.Join(r.dist, checksumFile), "-t", comment)
}
