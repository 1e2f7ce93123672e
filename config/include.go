package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of $include.
const (
	includeKey      = "$include"
	maxIncludeDepth = 10
	maxIncludes     = 200              // files read per configuration, repetitions included
	maxIncludeBytes = 4 * maxFileBytes // of all of them
)

// includer resolves $include. It reads only below one directory, whatever links it contains.
type includer struct {
	dir    string
	root   *os.Root
	report *report
	chain  []string // files being read, from the main one; relative to dir
	met    []string // every file named, once
	read   int      // files so far
	bytes  int      // of these files
}

// include returns v with every $include resolved, for a main file at path, and the files it names.
func include(path string, v *value, r *report) (resolved *value, files []string) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		r.add(failure(CodeFile, position{file: path}, nil, fmt.Sprintf("open directory: %v", cause(err)), "make the directory readable for openclawd"))
		return nil, nil
	}
	defer root.Close()
	inc := &includer{dir: dir, root: root, report: r, chain: []string{name}}
	resolved = inc.resolve(v, nil)
	return resolved, inc.met
}

// resolve returns nil if an included file gives nothing; that has been reported.
func (inc *includer) resolve(v *value, at *path) *value {
	switch v.kind {
	case list:
		for i, item := range v.items {
			if v.items[i] = inc.resolve(item, at.item(i)); v.items[i] == nil {
				v.items[i] = &value{kind: null, at: item.at}
			}
		}
	case object:
		return inc.resolveObject(v, at)
	}
	return v
}

func (inc *includer) resolveObject(v *value, at *path) *value {
	own := newObject(v.at)
	var base *value
	for _, m := range v.members {
		if m.key == includeKey {
			base = inc.includes(m, at, len(v.members) > 1)
		} else if resolved := inc.resolve(m.value, at.member(m.key)); resolved != nil {
			own.set(&member{m.key, m.at, resolved})
		}
	}
	if base == nil {
		return own
	}
	if len(v.members) == 1 {
		return base
	}
	return merge(base, own)
}

// includes reads the file or files of an $include. Only what is merged must be an object.
func (inc *includer) includes(m *member, at *path, siblings bool) (merged *value) {
	files := []*value{m.value}
	if m.value.kind == list {
		files = m.value.items
		siblings = siblings || len(files) > 1
	}
	for _, file := range files {
		if file.kind != text {
			f := failure(CodeType, file.at, at.member(includeKey), "the name of a file was expected, not "+file.kind.String(),
				"write the path of a file as a text, or a list of such paths")
			inc.report.add(f)
			continue
		}
		included := inc.load(file, at)
		switch {
		case included == nil:
		case siblings && included.kind != object:
			inc.report.add(failure(CodeInclude, file.at, at.member(includeKey), fmt.Sprintf("%q contains %s, which cannot be merged", clip(file.text),
				included.kind), "make it an object, or include it alone"))
		case merged == nil:
			merged = included
		default:
			merged = merge(merged, included)
		}
	}
	return merged
}

// load reads one file. Relative paths are relative to the file that includes it.
func (inc *includer) load(from *value, at *path) *value {
	refuse := func(code, message, hint string) *value {
		inc.report.add(failure(code, from.at, at.member(includeKey), fmt.Sprintf("%q %s", clip(from.text), message), hint))
		return nil
	}
	const below = "name a file below the directory of the main file, relative to the file that includes it"
	if filepath.IsAbs(from.text) || strings.HasPrefix(from.text, "/") || slices.Contains(strings.FieldsFunc(from.text, isSlash), "..") {
		return refuse(CodeEscape, "leads out of the configuration's directory", below+", without ..")
	}
	name := filepath.Join(filepath.Dir(inc.chain[len(inc.chain)-1]), filepath.FromSlash(from.text))
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".json" && ext != ".json5" {
		return refuse(CodeInclude, "does not have the name of a configuration file", "include only files named *.json or *.json5")
	}
	if slices.Contains(inc.chain, name) {
		return refuse(CodeCycle, "includes itself: "+strings.Join(append(slices.Clone(inc.chain), name), " -> "), "remove one of these includes")
	}
	if len(inc.chain) > maxIncludeDepth {
		return refuse(CodeInclude, fmt.Sprintf("is included more than %d levels deep", maxIncludeDepth), "include it at a higher level")
	}
	if inc.read++; inc.read > maxIncludes {
		return refuse(CodeSize, fmt.Sprintf("is one of more than %d files that are included", maxIncludes), "merge some of them")
	}
	if file := filepath.Join(inc.dir, name); !slices.Contains(inc.met, file) {
		inc.met = append(inc.met, file)
	}
	content, err := inc.content(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(CodeInclude, "does not exist", below)
	case errors.Is(err, fs.ErrPermission):
		return refuse(CodeInclude, "cannot be read: permission denied", "let openclawd read it")
	case errors.Is(err, errTooLarge):
		return refuse(CodeSize, "is larger than 4 MiB", "split it")
	case err != nil && inc.leadsOut(name):
		return refuse(CodeEscape, "is a link that leads out of the configuration's directory", "copy the file into the directory")
	case err != nil:
		return refuse(CodeInclude, fmt.Sprintf("cannot be read: %v", cause(err)), below)
	}
	if inc.bytes += len(content); inc.bytes > maxIncludeBytes {
		return refuse(CodeSize, "makes the configuration larger than 16 MiB", "include less")
	}
	v := parse(filepath.Join(inc.dir, name), content, inc.report)
	if v == nil {
		return nil
	}
	inc.chain = append(inc.chain, name)
	defer func() { inc.chain = inc.chain[:len(inc.chain)-1] }()
	return inc.resolve(v, at)
}

// content reads a file below the directory. A pipe or device is refused before opening, which could block forever.
func (inc *includer) content(name string) (string, error) {
	info, err := inc.root.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNoFile
	}
	f, err := inc.root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(f)
}

// leadsOut reports whether a name the directory refuses exists when links are followed.
func (inc *includer) leadsOut(name string) bool {
	info, err := os.Stat(filepath.Join(inc.dir, name))
	return err == nil && info.Mode().IsRegular()
}

// merge merges over into base: its keys win, objects are merged recursively, everything else is replaced.
func merge(base, over *value) *value {
	if base.kind != object || over.kind != object {
		return over
	}
	merged := newObject(over.at)
	for _, m := range base.members {
		merged.set(&member{m.key, m.at, m.value})
	}
	for _, m := range over.members {
		v := m.value
		if old := base.index[m.key]; old != nil {
			v = merge(old.value, v)
		}
		merged.set(&member{m.key, m.at, v})
	}
	return merged
}

var (
	errTooLarge = errors.New("file is too large")
	errNoFile   = errors.New("not a regular file")
)

// readAll reads a file of bounded size.
func readAll(r io.Reader) (string, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		err = errTooLarge
	}
	return string(content), err
}

// cause is a file system error without the path, which the finding contains.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }
