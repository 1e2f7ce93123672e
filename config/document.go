package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Redacted replaces secrets in everything a Document shows. Sent back, it means the stored secret.
const Redacted = "__OPENCLAW_REDACTED__"

// Document is the main file as read, or as Patch or Replace would change it. It is immutable and may be shared. What
// it shows contains no secret.
type Document struct {
	path   string
	getenv func(string) string
	file   mainFile

	config   *Config
	findings Findings
	tree     *value // of the main file alone, before $include and variables; nil if there is none
	comments []span
	hide     *redactor

	changed bool     // differs from the file
	base    mainFile // as read

	// What is shown, computed on first use.
	raw              func() (text string, ok bool)
	parsed, resolved func() []byte
	errors, warnings func() []Issue
}

// Limits of the reported settings of a change.
const (
	maxChanged     = 1000
	maxChangedPath = 300 // characters of one path
)

// ReadDocument reads the file at path, valid or not. getenv is as for Load.
func ReadDocument(path string, getenv func(string) string) *Document {
	return newDocument(path, readMain(path), getenv, nil)
}

// newDocument parses a file. known are secrets of an earlier version.
func newDocument(path string, file mainFile, getenv func(string) string, known []string) *Document {
	if len(file.content) > maxFileBytes {
		file = mainFile{found: true, err: errTooLarge}
	}
	d := &Document{path: path, getenv: getenv, file: file, base: file}
	d.config, d.findings = load(path, file, getenv)
	if file.found && file.err == nil {
		d.tree, d.comments = parseAll(path, file.content, newReport())
	}
	d.hide = newRedactor(d.config.tree, d.tree, d.text(), known)
	d.raw = sync.OnceValues(d.withoutSecrets)
	d.parsed = sync.OnceValue(func() []byte { return d.hide.json(d.tree) })
	d.resolved = sync.OnceValue(func() []byte { return d.hide.json(d.config.tree) })
	d.errors = sync.OnceValue(func() []Issue { return issuesOf(d.findings, Error, d.hide) })
	d.warnings = sync.OnceValue(func() []Issue { return append(issuesOf(d.findings, Warning, d.hide), d.notBuilt()...) })
	for i := range d.findings {
		f := &d.findings[i]
		f.Path, f.Value, f.Message, f.Hint = d.hide.within(f.Path), d.hide.within(f.Value), d.hide.within(f.Message), d.hide.within(f.Hint)
	}
	return d
}

// text is the content after a byte order mark, to which spans refer.
func (d *Document) text() string { return strings.TrimPrefix(d.file.content, byteOrderMark) }

// Path is the file's path.
func (d *Document) Path() string { return d.path }

// Exists reports whether the file exists.
func (d *Document) Exists() bool { return d.file.found }

// Hash is the SHA-256 of the file's bytes, in hexadecimal; "" if it is missing or unreadable.
func (d *Document) Hash() string { return hashOf(d.file) }

// BaseHash is the Hash of the file as read, before Patch or Replace.
func (d *Document) BaseHash() string { return hashOf(d.base) }

func hashOf(file mainFile) string {
	if !file.found || file.err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(file.content))
	return hex.EncodeToString(sum[:])
}

// Config is the file's configuration, as read by Load. It must not be used if the findings' Err is not nil.
func (d *Document) Config() *Config { return d.config }

// It returns the same findings as Load.
func (d *Document) Findings() Findings { return slices.Clone(d.findings) }

// Raw is the text with Redacted for every secret, also in comments. It is not ok if secrets cannot be identified: the
// file is missing, unreadable, or not JSON5.
func (d *Document) Raw() (text string, ok bool) { return d.raw() }

func (d *Document) withoutSecrets() (text string, ok bool) {
	if d.tree == nil {
		return "", false
	}
	return d.hide.text(d.file.content[:len(d.file.content)-len(d.text())], d.text(), d.tree, d.comments)
}

// Parsed is the file's own content as JSON, before $include and variables; {} if there is no tree. It must not be
// changed.
func (d *Document) Parsed() []byte { return d.parsed() }

// Resolved is the whole configuration as JSON, with includes and variables resolved. It must not be changed.
func (d *Document) Resolved() []byte { return d.resolved() }

// Shown removes the file's secrets from a text.
func (d *Document) Shown(s string) string { return d.hide.within(s) }

// Patch merges raw into the file and returns the new document, with the paths of the settings that differ, or the
// first of many.
//
// raw is the JSON5 text of an object, merged according to RFC 7386, with null deleting a key; lists of objects that
// all have an id are merged by id. Untouched parts keep their bytes. Errors are *EditError and *InvalidError.
func (d *Document) Patch(raw string) (next *Document, changed []string, err error) {
	patch, err := readPatch(raw)
	if err != nil {
		return nil, nil, err
	}
	if err := d.editable(); err != nil {
		return nil, nil, err
	}
	base := d
	if !d.file.found {
		base = newDocument(d.path, mainFile{content: "{}\n", found: true}, d.getenv, nil)
	}
	switch {
	case base.tree == nil:
		return nil, nil, &EditError{Message: "the file is not JSON5, so nothing can be merged into it", Hint: "replace all of it"}
	case base.tree.kind != object:
		return nil, nil, &EditError{Message: "the file contains " + base.tree.kind.String() + ", not an object", Hint: "replace all of it"}
	}
	if err := base.restorePatch(patch); err != nil {
		return nil, nil, err
	}
	joined, err := base.checkOutside(patch)
	if err != nil {
		return nil, nil, err
	}
	text, err := edited(base.text(), base.tree, patch)
	if err != nil {
		return nil, nil, err
	}
	next = d.with(strings.TrimSuffix(base.file.content, base.text()) + text)
	if joined != nil {
		if err := next.checkJoined(patched(joined, patch)); err != nil {
			return nil, nil, err
		}
	}
	return d.valid(next, base.tree)
}

// Replace replaces the whole text by raw, a JSON5 text. Redacted in it stands for the value stored in the same place,
// also in comments. Otherwise it is like Patch.
func (d *Document) Replace(raw string) (next *Document, changed []string, err error) {
	if err := d.editable(); err != nil {
		return nil, nil, err
	}
	text, err := d.restoreText(raw)
	if err != nil {
		return nil, nil, err
	}
	return d.valid(d.with(text), d.tree)
}

// editable returns why the file must not be edited: its content is unknown.
func (d *Document) editable() error {
	if d.file.err != nil {
		return &EditError{Message: fmt.Sprintf("the file cannot be read: %v", cause(d.file.err)), Hint: "fix that first"}
	}
	return nil
}

func (d *Document) with(content string) *Document {
	next := newDocument(d.path, mainFile{found: true, content: content}, d.getenv, d.hide.secrets)
	next.base, next.changed = d.base, !d.base.found || content != d.base.content
	return next
}

// Changed reports whether Write would change the file.
func (d *Document) Changed() bool { return d.changed }

func (d *Document) valid(next *Document, before *value) (*Document, []string, error) {
	if err := next.findings.Err(); err != nil {
		return nil, nil, &InvalidError{Issues: next.errors()}
	}
	var changed []string
	differences(before, next.tree, nil, func(at *path) {
		if len(changed) < maxChanged {
			changed = append(changed, clipTo(next.hide.within(at.String()), maxChangedPath))
		}
	})
	return next, changed, nil
}

// Issue is a finding in the gateway's form.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Issues are the findings of one severity; warnings include settings for features that openclawd does not have. They
// must not be changed.
func (d *Document) Issues(s Severity) []Issue {
	if s == Error {
		return d.errors()
	}
	return d.warnings()
}

func issuesOf(findings Findings, s Severity, hide *redactor) []Issue {
	issues := []Issue{}
	for i := range findings {
		if f := &findings[i]; f.Severity == s {
			issues = append(issues, Issue{hide.within(f.Path), hide.within(f.Message + " (" + f.Hint + ")")})
		}
	}
	return issues
}

// notBuilt are the settings for features that openclawd does not have.
func (d *Document) notBuilt() (issues []Issue) {
	for i := range d.config.Unsupported {
		if u := &d.config.Unsupported[i]; u.Group == NotBuilt {
			issues = append(issues, Issue{d.hide.within(u.Setting), "not supported yet: openclawd keeps it in the file, but it has no effect"})
		}
	}
	return issues
}

// InvalidError says that a configuration would be unusable.
type InvalidError struct{ Issues []Issue }

func (e *InvalidError) Error() string {
	s := "invalid config"
	for i, one := range e.Issues {
		s += [...]string{": ", "; "}[min(i, 1)]
		if one.Path != "" {
			s += one.Path + ": "
		}
		s += one.Message
	}
	return s
}

// EditError says why an edit is impossible. It contains no value.
type EditError struct {
	Path    string // path of the setting; "" if none
	Message string
	Hint    string
}

func (e *EditError) Error() string {
	s := e.Message + "; " + e.Hint
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	return s
}

// ErrNotObject means that a patch is JSON5 but not an object.
var ErrNotObject = errors.New("must be an object")

func readPatch(raw string) (*value, error) {
	patch, err := readRaw(raw)
	if err == nil && patch.kind != object {
		return nil, ErrNotObject
	}
	return patch, err
}

// readRaw parses a client's text. Errors give the place and at most one character of the text.
func readRaw(raw string) (*value, error) {
	if len(raw) > maxFileBytes {
		return nil, &EditError{Message: "the text is larger than 4 MiB", Hint: "send less"}
	}
	r := newReport()
	root := parse("raw", raw, r)
	if root == nil {
		f := r.findings("raw")
		one := f[slices.IndexFunc(f, func(f Finding) bool { return f.Severity == Error })]
		return nil, &EditError{Message: fmt.Sprintf("not JSON5: %d:%d: %s", one.Line, one.Column, one.Message), Hint: one.Hint}
	}
	return root, nil
}
