package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
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
	key          string // file of minisign's secret key; "" signs nothing
	publicKey    string // what install.sh verifies with; "" for that of key, if there is one

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
	for _, step := range []func() error{r.archives, r.npmPackages, r.linuxPackages, r.billsOfMaterials, r.composeFiles, r.installScript, r.check, r.checksums, r.sign} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// composeNames are the files of packaging/docker that people download to run the published image.
var composeNames = []string{"compose.yaml", "compose.litestream.yaml", "compose.cluster.yaml", "compose.openclaw.yaml", "litestream.yml", "nats.conf", "openclaw.cluster.json5"}

func (r *release) composeFiles() error {
	for _, name := range composeNames {
		content, err := os.ReadFile(filepath.Join(r.source, "packaging", "docker", name))
		if err != nil {
			return err
		}
		if err := r.create(name, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
			return err
		}
	}
	return nil
}

var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// chooseVersion takes the version that the Go toolchain stamped into the program, unless one is given.
func (r *release) chooseVersion() error {
	if r.version == "" {
		info, err := buildinfo.ReadFile(r.program(r.platforms[0]))
		if err != nil {
			return fmt.Errorf("read the version of the program: %w", err)
		}
		if r.version, err = versionOfBuild(info.Main.Version); err != nil {
			return err
		}
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

// dirty is what the Go toolchain adds to the version of a tree that differs from its commit.
const dirty = "+dirty"

// versionOfBuild is the version of packages of a program with that version. Build metadata is left out, since npm drops it; a changed tree
// must not get the name of a release by that.
func versionOfBuild(stamped string) (string, error) {
	version, _, _ := strings.Cut(stamped, "+")
	switch {
	case !strings.HasSuffix(stamped, dirty):
		return version, nil
	case !strings.Contains(version, "-"):
		return "", fmt.Errorf("the tree differs from the commit of %s: build from a clean checkout, or give -version", version)
	}
	return version + ".dirty", nil
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
