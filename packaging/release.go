package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is where and from what packages are made.
type release struct {
	source, dist string
	platforms    []platform
	version      string // semantic, without a leading v
	time         time.Time
	key          string // "" signs nothing

	nfpm, bills, minisign []string // commands

	say func(string)
}

const unversioned = "0.0.0"

// make makes all packages, checks them, and writes the checksums last.
func (r *release) make() error {
	if err := r.chooseVersion(); err != nil {
		return err
	}
	r.say("version " + r.version)
	for _, step := range []func() error{r.archives, r.npmPackages, r.linuxPackages, r.billsOfMaterials, r.check, r.checksums, r.sign} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// chooseVersion takes the version that the Go toolchain stamped into the program, unless one is given. Build metadata, which npm drops, is
// left out.
func (r *release) chooseVersion() error {
	if r.version == "" {
		info, err := buildinfo.ReadFile(r.program(r.platforms[0]))
		if err != nil {
			return fmt.Errorf("read the version of the program: %w", err)
		}
		r.version, _, _ = strings.Cut(info.Main.Version, "+")
	}
	r.version = strings.TrimPrefix(r.version, "v")
	if r.version == "" || r.version == "(devel)" {
		r.version = unversioned
	}
	if !semantic.MatchString(r.version) {
		return fmt.Errorf("version %q is not like 1.2.3 or 1.2.3-rc.1: give -version", r.version)
	}
	return nil
}

// program is the path of a built program.
func (r *release) program(p platform) string {
	return filepath.Join(r.dist, "bin", p.base()+p.suffix())
}

// command runs a command of another project, and shows its output if it fails.
func (r *release) command(words []string, args ...string) error {
	all := append(append([]string{}, words...), args...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()), "GOOS=", "GOARCH=", "CGO_ENABLED=0")
	cmd.Stdin = os.Stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(all, " "), err, out)
	}
	return nil
}
