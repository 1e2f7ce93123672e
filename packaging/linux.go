package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/pronto-lab/openclawd/internal/systemd"
)

//go:embed linux
var linuxFiles embed.FS

// Of the packages for Linux.
const (
	serviceUser  = "openclawd"
	stateDir     = "/var/lib/openclawd"
	installedBin = "/usr/bin/openclawd"
	unitFile     = "/usr/lib/systemd/system/openclawd.service"
	environment  = "/etc/openclawd.env"
)

// unit is the systemd unit of the packages: what openclawd service unit prints for their user and directory.
func unit() string {
	u := systemd.Unit{RunAs: serviceUser, Binary: installedBin, StateDir: stateDir, Writes: []string{stateDir}}
	return u.Text()
}

var nfpmConfig = template.Must(template.ParseFS(linuxFiles, "linux/nfpm.yaml"))

// linuxFormats are the formats of nfpm.
var linuxFormats = []string{"deb", "rpm"}

// linuxFile is the name of a package. It contains no version, as archives do not.
func linuxFile(p platform, format string) string { return p.base() + "." + format }

// linuxPackages makes a .deb and an .rpm of each program for Linux.
func (r *release) linuxPackages() error {
	dir, err := os.MkdirTemp("", "packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := r.stageLinux(dir); err != nil {
		return err
	}
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		config, err := r.nfpmConfig(p, dir)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, p.arch+".yaml")
		if err := os.WriteFile(path, config, document); err != nil {
			return err
		}
		for _, format := range linuxFormats {
			if err := r.command(r.nfpm, "package", "--config", path, "--packager", format, "--target", filepath.Join(r.dist, linuxFile(p, format))); err != nil {
				return err
			}
		}
	}
	return nil
}

// stageLinux writes the files that nfpm reads, other than programs and documents.
func (r *release) stageLinux(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "openclawd.service"), []byte(unit()), document); err != nil {
		return err
	}
	names, err := linuxFiles.ReadDir("linux")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := linuxFiles.ReadFile("linux/" + name.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name.Name()), text, document); err != nil {
			return err
		}
	}
	return nil
}

// nfpmConfig describes a package to nfpm, which reads the files in dir.
func (r *release) nfpmConfig(p platform, dir string) ([]byte, error) {
	source, err := filepath.Abs(r.source)
	if err != nil {
		return nil, err
	}
	built, err := filepath.Abs(r.program(p))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = nfpmConfig.Execute(&b, map[string]string{
		"Arch": p.arch, "Version": r.version, "Time": r.time.Format("2006-01-02T15:04:05Z"), "Homepage": homepage,
		"Program": built, "InstalledBin": installedBin, "UnitFile": unitFile, "Environment": environment, "Staged": dir, "Source": source,
	})
	if err != nil {
		return nil, fmt.Errorf("describe the package for %s: %w", p.arch, err)
	}
	return b.Bytes(), nil
}
