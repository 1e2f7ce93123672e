package main

import (
	"fmt"
	"slices"
	"strings"
)

// platform is a system that the program is built for.
type platform struct{ os, arch string }

// platforms are those of the Makefile, in its order.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// choosePlatforms returns the platforms of a list such as "linux/amd64 darwin/arm64"; all without one.
func choosePlatforms(names string) (chosen []platform, err error) {
	for _, name := range strings.Fields(names) {
		os, arch, _ := strings.Cut(name, "/")
		p := platform{os, arch}
		if !slices.Contains(platforms, p) {
			return nil, fmt.Errorf("-platforms: %q is none of the platforms of a release: give some of %v", name, platforms)
		}
		chosen = append(chosen, p)
	}
	if len(chosen) == 0 {
		return platforms, nil
	}
	return chosen, nil
}

// String is the name of a platform in the Makefile.
func (p platform) String() string { return p.os + "/" + p.arch }

// base is the name of a platform's files without suffix. It contains no version, so that releases/latest/download leads to it.
func (p platform) base() string { return "openclawd-" + p.os + "-" + p.arch }

// suffix is that of programs.
func (p platform) suffix() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// archive is the name of the platform's archive.
func (p platform) archive() string {
	if p.os == "windows" {
		return p.base() + ".zip"
	}
	return p.base() + ".tar.gz"
}

// npmOS and npmCPU are the names of Node: process.platform and process.arch.
func (p platform) npmOS() string {
	if p.os == "windows" {
		return "win32"
	}
	return p.os
}

func (p platform) npmCPU() string {
	if p.arch == "amd64" {
		return "x64"
	}
	return p.arch
}
