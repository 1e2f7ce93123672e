package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Adoption is a file of OpenClaw as one of ours: its text, with a comment before each setting that has no effect here or not the intended
// one.
type Adoption struct {
	Text  string `json:"-"`
	Notes []Note `json:"notes"`
}

// Note says what becomes of one setting. It contains no secret.
type Note struct {
	Where   string `json:"where"`   // file:line:column before the adoption; a file alone
	Setting string `json:"setting"` // "": the file as a whole
	Effect  string `json:"effect"`
}

// Trial has the ports for a time in which both programs run.
type Trial struct{ Gateway, API int }

// Adopt returns the file as one of ours. For a trial, which may be nil, it has other ports, and neither channels nor scheduled jobs. Errors
// are *FindingsError, *EditError and *InvalidError.
func (d *Document) Adopt(trial *Trial) (*Adoption, error) {
	if err := d.findings.Err(); err != nil {
		return nil, err
	}
	a := &Adoption{Notes: d.notes()}
	next := d
	if trial != nil {
		var changed []string
		var err error
		if next, changed, err = d.Patch(d.trialPatch(trial)); err != nil {
			return nil, err
		}
		for _, setting := range changed {
			a.Notes = append(a.Notes, Note{Where: d.path, Setting: setting, Effect: "set for the trial"})
		}
	}
	for _, file := range d.config.Files[1:] {
		a.Notes = append(a.Notes, Note{Where: file, Effect: "belongs to the configuration and is not copied: put it at the same place beside the new one"})
	}
	a.Text = next.commented()
	return a, nil
}

// trialPatch is what a trial changes. A channel that is not configured is not mentioned.
func (d *Document) trialPatch(trial *Trial) string {
	off := map[string]bool{"enabled": false}
	channels := map[string]any{}
	for _, name := range []string{"discord", "slack", "telegram"} {
		if child(child(d.config.tree, "channels"), name) != nil {
			channels[name] = off
		}
	}
	patch := map[string]any{"gateway": map[string]int{"port": trial.Gateway}, "taskMonitor": map[string]int{"port": trial.API}, "cron": off}
	if len(channels) > 0 {
		patch["channels"] = channels
	}
	text, _ := json.Marshal(patch) // these types always marshal
	return string(text)
}

// remark is what is said about a place of the file.
type remark struct {
	line    int
	where   string
	setting string
	effect  string
}

// remarks lists settings that have no effect here, and what is odd, by place.
func (d *Document) remarks() (list []remark) {
	for i := range d.config.Unsupported {
		u := &d.config.Unsupported[i]
		one := remark{where: u.Where(), setting: u.String(), effect: u.Group.String()}
		if u.File == d.path {
			one.line = u.Line
		}
		list = append(list, one)
	}
	for i := range d.findings {
		f := &d.findings[i]
		one := remark{where: f.Where(), setting: f.Path, effect: fmt.Sprintf("%s (%s)", f.Message, f.Hint)}
		if f.File == d.path {
			one.line = f.Line
		}
		list = append(list, one)
	}
	return append(list, d.shared()...)
}

// shared lists workspaces in the directory of the file, which OpenClaw's onboarding names: both programs would write there.
func (d *Document) shared() (list []remark) {
	note := func(setting string, agent *value) {
		w := child(agent, "workspace")
		if w == nil || w.kind != text || !d.isBeside(w.text) {
			return
		}
		list = append(list, remark{line: w.at.line, where: fmt.Sprintf("%s:%d:%d", d.path, w.at.line, w.at.column), setting: setting + ".workspace",
			effect: "both programs write there: name a copy if OpenClaw shall keep its own"})
	}
	agents := child(d.tree, "agents")
	note("agents.defaults", child(agents, "defaults"))
	if one := child(agents, "list"); one != nil {
		for i, agent := range one.items {
			note(fmt.Sprintf("agents.list[%d]", i), agent)
		}
	}
	if all := child(agents, "entries"); all != nil {
		for _, m := range all.members {
			note("agents.entries."+m.key, m.value)
		}
	}
	return list
}

// isBeside reports whether a path leads into the directory of the file.
func (d *Document) isBeside(path string) bool {
	if rest, is := strings.CutPrefix(path, "~"); is {
		home, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		path = home + rest
	}
	dir, err := filepath.Abs(filepath.Dir(d.path))
	return err == nil && filepath.IsAbs(path) && strings.HasPrefix(filepath.Clean(path), dir+string(filepath.Separator))
}

func (d *Document) notes() []Note {
	notes := []Note{}
	for _, r := range d.remarks() {
		notes = append(notes, Note{Where: r.where, Setting: r.setting, Effect: r.effect})
	}
	if n := d.config.MoreUnsupported; n > 0 {
		notes = append(notes, Note{Where: d.path, Effect: fmt.Sprintf("%d more settings have no effect", n)})
	}
	return notes
}

// commented is the file with a comment above the line of each remark. A file in which a comment would be part of a text stays without them.
func (d *Document) commented() string {
	above := map[int][]string{}
	for _, r := range d.remarks() {
		if r.line > 0 {
			above[r.line] = append(above[r.line], strings.Join(strings.Fields("// openclawd: "+r.setting+": "+r.effect), " "))
		}
	}
	var edits []edit
	eachLineStart(d.text(), func(line, at int) {
		rest := d.text()[at:]
		indent := rest[:len(rest)-len(strings.TrimLeftFunc(rest, isIndent))]
		for _, comment := range above[line] {
			edits = append(edits, edit{span{at, at}, indent + comment + "\n"})
		}
	})
	text := apply(d.text(), edits)
	if root := parse("", text, newReport()); root == nil || !same(root, d.tree) {
		return d.text()
	}
	return text
}

// eachLineStart visits the lines of a text as positions count them.
func eachLineStart(text string, visit func(line, at int)) {
	line := 1
	visit(line, 0)
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		at += size
		if r == '\n' || r == '\r' && !strings.HasPrefix(text[at:], "\n") {
			line++
			visit(line, at)
		}
	}
}
