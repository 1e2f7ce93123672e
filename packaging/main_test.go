package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// someRelease is a release of small programs. What other projects' commands make, which come from the network, is left out.
func someRelease(t *testing.T) *release {
	t.Helper()
	r := &release{source: "..", dist: t.TempDir(), platforms: platforms, version: "1.2.3", time: time.Unix(1_700_000_000, 0).UTC(), say: func(text string) { t.Log(text) }}
	if err := os.Mkdir(filepath.Join(r.dist, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		if err := os.WriteFile(r.program(p), []byte("#!/bin/sh\necho openclawd "+p.os+" "+p.arch+" \"$@\"\n"), program); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []func() error{r.archives, r.npmPackages, r.checksums} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestArchivesAndPackagesOfNPMHaveTheirFiles(t *testing.T) {
	t.Parallel()
	r := someRelease(t)
	for _, p := range platforms {
		built, err := os.ReadFile(r.program(p))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range r.packages(p)[:2] {
			if err := r.checkPackage(&k, built); err != nil {
				t.Errorf("%s: %v", k.file, err)
			}
			if err := r.checkPackage(&k, []byte("another program")); err == nil {
				t.Errorf("%s is accepted with another program", k.file)
			}
		}
	}
}

func TestSamePackagesTwice(t *testing.T) {
	t.Parallel()
	one, two := someRelease(t), someRelease(t)
	names, err := one.files()
	if err != nil || len(names) != 2*len(platforms)+1 {
		t.Fatalf("the release has the files %v, %v", names, err)
	}
	for _, name := range append(names, checksumFile) {
		a, err := os.ReadFile(filepath.Join(one.dist, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two.dist, name))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s differs the second time (%v)", name, err)
		}
	}
}

func TestChecksumsNameEveryFile(t *testing.T) {
	t.Parallel()
	r := someRelease(t)
	sums, err := os.ReadFile(filepath.Join(r.dist, checksumFile))
	if err != nil {
		t.Fatal(err)
	}
	names, err := r.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(r.dist, name))
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name); !strings.Contains(string(sums), line) {
			t.Errorf("%s is not listed with its hash", name)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"v1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3-rc.1", "1.2": "", "1.2.3 4": ""} {
		r := release{version: given}
		if err := r.chooseVersion(); (err == nil) != (want != "") || err == nil && r.version != want {
			t.Errorf("%q gives %q, %v, want %q", given, r.version, err, want)
		}
	}
}

func TestPlatformsAreChosen(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]int{"": len(platforms), "linux/amd64": 1, "linux/arm64 windows/amd64": 2, "linux": -1, "linux/amd64 plan9/386": -1} {
		got, err := choosePlatforms(names)
		if (err == nil) != (want >= 0) || err == nil && len(got) != want {
			t.Errorf("%q gives %v, %v, want %d", names, got, err, want)
		}
	}
}
