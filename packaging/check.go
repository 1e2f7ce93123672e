package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// contents are the files of a package by name, with their mode.
type contents map[string]packed

type packed struct {
	mode int64
	data []byte
}

// check reads every package back: each has the files that it should have and no others, and the program that was built.
func (r *release) check() error {
	var errs []error
	for _, p := range r.platforms {
		built, err := os.ReadFile(r.program(p))
		if err != nil {
			return err
		}
		for _, k := range r.packages(p) {
			if err := r.checkPackage(&k, built); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", k.file, err))
			}
		}
	}
	return errors.Join(errs...)
}

// kept is what a package must contain.
type kept struct {
	file    string
	read    func([]byte) (contents, error)
	program string
	others  []string
}

// packages lists the packages of a platform.
func (r *release) packages(p platform) []kept {
	read := readTarball
	if p.os == "windows" {
		read = readZip
	}
	all := []kept{
		{p.archive(), read, "openclawd" + p.suffix(), []string{"LICENSE", "README.md", "CHANGELOG.md"}},
		{r.npmFile(p.npmName()), readTarball, "package/openclawd" + p.suffix(), []string{"package/package.json", "package/README.md", "package/LICENSE"}},
	}
	if p.os == "linux" {
		const documents = "/usr/share/doc/openclawd/"
		installed := []string{unitFile, environment, documents + "copyright", documents + "README.md", documents + "CHANGELOG.md"}
		all = append(all, kept{linuxFile(p, "deb"), readDeb, installedBin, installed}, kept{linuxFile(p, "rpm"), readRPM, installedBin, installed})
	}
	return all
}

const executable = 0o111

func (r *release) checkPackage(k *kept, built []byte) error {
	raw, err := os.ReadFile(filepath.Join(r.dist, k.file))
	if err != nil {
		return err
	}
	has, err := k.read(raw)
	if err != nil {
		return err
	}
	switch got, is := has[k.program]; {
	case !is:
		return fmt.Errorf("it has no %s", k.program)
	case got.mode&executable != executable:
		return fmt.Errorf("%s has mode %o and cannot be run", k.program, got.mode)
	case !bytes.Equal(got.data, built):
		return fmt.Errorf("%s is not the program that was built", k.program)
	}
	for _, name := range k.others {
		if len(has[name].data) == 0 {
			return fmt.Errorf("%s is missing or empty", name)
		}
	}
	for name := range has {
		if name != k.program && !slices.Contains(k.others, name) {
			return fmt.Errorf("it has a file %s that does not belong there", name)
		}
	}
	return nil
}
