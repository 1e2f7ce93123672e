package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// script reads a script's path, for readScript.
func (f *fields) script(key string) *Script {
	name := f.text(key, "")
	if name == "" {
		return nil
	}
	v := f.object.get(key)
	return &Script{File: name, Line: v.at.line, Column: v.at.column}
}

// readScript reads the script of models.scripted.script, by the rules of $include. An unreadable one only disables the
// scripted provider.
func (c *Config) readScript(r *report) {
	s := c.Models.Script
	if s == nil {
		return
	}
	v := c.tree.get("models").get("scripted").get("script")
	dir, _ := filepath.Split(c.File)
	if dir == "" {
		dir = "."
	}
	hint := ""
	if s.Problem, hint = s.read(dir); s.Problem != "" {
		var at *path
		f := warning(CodeScript, v.at, at.member("models").member("scripted").member("script"), v.shown()+" "+s.Problem, hint)
		f.Value = v.shown()
		r.add(f)
	}
	if s.named && !slices.Contains(c.Files, s.File) {
		c.Files = append(c.Files, s.File)
	}
}

// read reads a script below a directory, and reports faults.
func (s *Script) read(dir string) (problem, hint string) {
	const below = "name a file below the directory of openclaw.json, relative to it, without .."
	name := filepath.FromSlash(s.File)
	if !filepath.IsLocal(name) || slices.Contains(strings.FieldsFunc(name, isSlash), "..") {
		return "leads out of the configuration's directory", below
	}
	if strings.ToLower(filepath.Ext(name)) != ".json" {
		return "does not have the name of a script", "use a file named *.json"
	}
	s.File, s.named = filepath.Join(dir, name), true
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Sprintf("cannot be read: %v", cause(err)), "make the directory readable for openclawd"
	}
	defer root.Close()
	text, err := (&includer{dir: dir, root: root}).content(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist", below
	case errors.Is(err, errTooLarge):
		return "is larger than 4 MiB", "say less"
	case err != nil:
		return fmt.Sprintf("cannot be read: %v", cause(err)), "make it a regular file below the directory of openclaw.json, readable for openclawd"
	}
	s.Text = []byte(text)
	return "", ""
}
