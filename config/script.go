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

// script reads the name of a script, for readScript.
func (f *fields) script(key string) *Script {
	name := f.text(key, "")
	if name == "" {
		return nil
	}
	v := f.object.get(key)
	return &Script{File: name, Line: v.at.line, Column: v.at.column}
}

// readScript reads the script that models.scripted.script names, by the rules of $include. One that cannot be read keeps nothing but the
// scripted provider from answering.
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
	mend := ""
	if s.Problem, mend = s.read(dir); s.Problem != "" {
		var at *path
		f := warning(CodeScript, v.at, at.member("models").member("scripted").member("script"), v.shown()+" "+s.Problem, mend)
		f.Value = v.shown()
		r.add(f)
	}
	if s.named && !slices.Contains(c.Files, s.File) {
		c.Files = append(c.Files, s.File)
	}
}

// read reads a script below a directory, and says what is wrong with it.
func (s *Script) read(dir string) (problem, mend string) {
	const below = "name a file below the directory of openclaw.json, relative to it, without .."
	name := filepath.FromSlash(s.File)
	if !filepath.IsLocal(name) || slices.Contains(strings.FieldsFunc(name, isSlash), "..") {
		return "leads out of the configuration's directory", below
	}
	if strings.ToLower(filepath.Ext(name)) != ".json" {
		return "is not named like a script", "name a file *.json"
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
		return fmt.Sprintf("cannot be read: %v", cause(err)), "let openclawd read it, and let it be a regular file below the directory of openclaw.json"
	}
	s.Text = []byte(text)
	return "", ""
}
