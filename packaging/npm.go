package main

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// npmScope holds the packages of platforms. The package openclawd depends on all of them, and npm installs the one that fits.
const npmScope = "@openclawd/"

const homepage = "https://github.com/pronto-lab/openclawd"

//go:embed npm/openclawd.js
var launcher string

//go:embed npm/README.md
var npmReadme string

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Homepage    string            `json:"homepage"`
	Repository  map[string]string `json:"repository"`
	Bin         map[string]string `json:"bin,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Files       []string          `json:"files"`
	Unplugged   bool              `json:"preferUnplugged,omitempty"` // a program cannot run from a packed file
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

func (r *release) manifest(name, what string) manifest {
	return manifest{Name: name, Version: r.version, Description: what, License: "MIT", Homepage: homepage,
		Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"}}
}

func (p platform) npmName() string { return npmScope + p.npmOS() + "-" + p.npmCPU() }

// npmFile is the name that npm pack gives the file of a package.
func (r *release) npmFile(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + r.version + ".tgz"
}

// npmPackages makes one package for each platform, and the package openclawd.
func (r *release) npmPackages() error {
	whole := r.manifest("openclawd", "Coordination backend for teams of LLM agents: one program, one SQLite file")
	whole.Bin = map[string]string{"openclawd": "openclawd.js"}
	whole.Engines = map[string]string{"node": ">=18"}
	whole.Files = []string{"openclawd.js"}
	whole.Optional = map[string]string{}
	for _, p := range r.platforms {
		name := "openclawd" + p.suffix()
		m := r.manifest(p.npmName(), "The program of openclawd for "+p.os+"/"+p.arch)
		m.OS, m.CPU, m.Files, m.Unplugged = []string{p.npmOS()}, []string{p.npmCPU()}, []string{name}, true
		whole.Optional[m.Name] = r.version
		if err := r.npmPackage(&m, entry{name: name, from: r.program(p), mode: program}); err != nil {
			return err
		}
	}
	return r.npmPackage(&whole, entry{name: "openclawd.js", text: launcher, mode: program})
}

func (r *release) npmPackage(m *manifest, content entry) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	entries := []entry{
		{name: "package.json", text: string(text) + "\n", mode: document},
		{name: "README.md", text: npmReadme, mode: document},
		{name: "LICENSE", from: r.documents()[0].from, mode: document},
		content,
	}
	for i := range entries {
		entries[i].name = "package/" + entries[i].name
	}
	return r.tarball(r.npmFile(m.Name), entries)
}
