package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Config is a configuration with defaults applied.
type Config struct {
	File  string   // as passed to Load
	Found bool     // the file exists
	Files []string // files it consists of, readable or not: File, then included ones in order, then a script

	Agents      []Agent // those of agents.entries by id, or in the order of agents.list; then those of the oldest form by id
	Defaults    AgentDefaults
	Bindings    []Binding
	Session     Session
	Tools       Tools
	Discord     Channel
	Slack       Channel
	Telegram    Channel
	Models      Models
	MCP         MCP
	Gateway     Gateway
	TaskMonitor TaskMonitor
	UI          UI
	Messages    Messages
	Media       Media
	Cron        Cron
	Hooks       Hooks
	Skills      Skills
	Cluster     Cluster

	// Settings that openclawd ignores: those of File first, in order, and the number of further ones.
	Unsupported     []Unsupported
	MoreUnsupported int

	byID    map[string]int // indexes into Agents, by lower-case id
	indexed []Agent        // the Agents indexed by byID

	tree   *value
	hide   *strings.Replacer // secrets
	masked []byte
}

// Load reads the configuration at path. getenv returns environment variables; "" means not set.
//
// The Config is never nil: unreadable settings have their defaults. It must not be used if the findings' Err is not
// nil. A missing file is an empty configuration without findings.
func Load(path string, getenv func(string) string) (*Config, Findings) {
	return load(path, readMain(path), getenv)
}

// load is Load for a main file that has been read.
func load(path string, file mainFile, getenv func(string) string) (*Config, Findings) {
	r := newReport()
	c := &Config{File: path, Files: []string{path}}
	root := c.read(path, file, r)
	if root == nil {
		root = newObject(position{file: path})
	}
	c.tree = root
	newEnvironment(getenv, root, r).apply(root, nil)
	markSecrets(root, false)
	c.hide = hider(root)
	checkNumbers(root, nil, r)
	c.decode(root, r)
	c.readScript(r)
	c.masked = canonical(root, c.hide)
	c.Unsupported, c.MoreUnsupported = r.unsupported.list(path)
	for i := range c.Unsupported {
		c.Unsupported[i].Setting = c.shown(c.Unsupported[i].Setting)
	}
	return c, c.withoutSecrets(r.findings(path))
}

type mainFile struct {
	found   bool
	content string
	err     error // read error
}

func readMain(path string) (file mainFile) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return mainFile{}
	}
	file = mainFile{found: true, err: err}
	if err == nil {
		defer f.Close()
		file.content, file.err = readAll(f)
	}
	return file
}

// read returns the tree of all files, or nil if there is none.
func (c *Config) read(path string, file mainFile, r *report) *value {
	at := position{file: path}
	c.Found = file.found
	switch {
	case !file.found:
		return nil
	case errors.Is(file.err, errTooLarge):
		r.add(failure(CodeSize, at, nil, "the file is larger than 4 MiB", "split it with $include, or check whether it is a configuration at all"))
		return nil
	case file.err != nil:
		r.add(failure(CodeFile, at, nil, fmt.Sprintf("read: %v", cause(file.err)), "name a file that openclawd may read"))
		return nil
	}
	root := parse(path, file.content, r)
	if root == nil {
		return nil
	}
	root, included := include(path, root, r)
	c.Files = append(c.Files, included...)
	return root
}

// Default returns the configuration without any settings.
func Default() *Config {
	c, _ := Load("", func(string) string { return "" }) // no file has no name
	return c
}

// Sets reports whether the files set the value at a path of keys, to whatever.
func (c *Config) Sets(keys ...string) bool {
	v := c.tree
	for _, key := range keys {
		v = v.get(key)
	}
	return v != nil
}

// openRegular opens a regular file; others, such as pipes, could block.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return os.Open(path)
}

// checkNumbers reports integers that lose digits in other programs.
func checkNumbers(v *value, at *path, r *report) {
	switch v.kind {
	case number:
		becomes, ok := asFloat(v.text)
		if !ok {
			return
		}
		message := "a secret that is a number loses digits in other programs"
		if !v.secret {
			message = fmt.Sprintf("%s is too large for a number: other programs read it as %s", clip(v.text), clip(becomes))
		}
		f := warning(CodeBigNumber, v.at, at, message, "quote this id")
		f.Value = v.shown()
		r.add(f)
	case list:
		for i, item := range v.items {
			checkNumbers(item, at.item(i), r)
		}
	case object:
		for _, m := range v.members {
			checkNumbers(m.value, at.member(m.key), r)
		}
	}
}

// withoutSecrets removes secrets from other findings that repeat them.
func (c *Config) withoutSecrets(findings Findings) Findings {
	for i := range findings {
		f := &findings[i]
		f.Path, f.Value, f.Message, f.Hint = c.shown(f.Path), c.shown(f.Value), c.shown(f.Message), c.shown(f.Hint)
	}
	return findings
}

// Masked is the whole configuration, includes and variables resolved, as canonical JSON with *** for every secret.
func (c *Config) Masked() []byte { return append([]byte(nil), c.masked...) }

// Hash is the SHA-256 of Masked, in hexadecimal: equal for equivalent configurations. Secrets are excluded, since a
// hash in logs would allow guessing weak ones; to detect a changed token, compare the tokens.
func (c *Config) Hash() string {
	sum := sha256.Sum256(c.masked)
	return hex.EncodeToString(sum[:])
}
