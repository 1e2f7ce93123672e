// Package filetools lets agents read and change the files of their workspaces, with the arguments of OpenClaw's tools.
//
// It promises
//   - that no call reaches a file outside of the caller's workspace: every step down the tree is taken in the directory reached before, and a
//     symbolic link, a device or a pipe is refused, even if it is put there between check and step;
//   - that the files of the program itself are neither read nor written, whatever links there are;
//   - that a written file is the old one or the new one as a whole;
//   - that sizes and numbers are bounded.
package filetools

import (
	"encoding/json"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Options of Tools. All are required.
type Options struct {
	// Workspace is the directory of an agent; "" for none.
	Workspace func(agentID string) string
	// Protected are the program's own files and directories. A workspace that holds one of them cannot be used.
	Protected func() []string
}

// Files are the file tools. They are safe for concurrent use.
type files struct {
	opts Options

	mu    sync.Mutex
	locks map[string]*sync.Mutex // of the workspaces: one change at a time
}

// Tools returns the tools.
func Tools(o Options) []tools.Tool {
	f := &files{opts: o, locks: map[string]*sync.Mutex{}}
	changes := tools.Effect{Outside: true}
	all := []tools.Tool{
		{Spec: spec("read", "Read a text file of the workspace. Long files are cut: continue with offset.", tools.Object("path", pathArgument,
			`"offset":{"type":"integer","minimum":1,"description":"Line to start at, from 1."}`,
			`"limit":{"type":"integer","minimum":1,"description":"Most lines to read."}`)), Do: f.read},
		{Spec: spec("write", "Write a text file of the workspace, as a whole. Missing directories are created.", tools.Object("path content", pathArgument,
			`"content":{"type":"string","description":"The new content."}`,
			`"append":{"type":"boolean","description":"Add to the end of the file instead of replacing it."}`)), Effect: changes, Do: f.write},
		{Spec: spec("edit", "Replace exact texts in a file of the workspace. Each oldText must occur exactly once in the original file.", tools.Object("path",
			pathArgument, `"edits":{"type":"array","minItems":1,"maxItems":200,"items":`+string(tools.Object("oldText newText", oldArgument, newArgument))+`}`,
			oldArgument, newArgument)), Effect: changes, Do: f.edit},
		{Spec: spec("apply_patch", "Add, change, move and delete files of the workspace with one patch, from *** Begin Patch to *** End Patch.",
			tools.Object("input", `"input":{"type":"string","description":"The patch."}`)), Effect: changes, Do: f.patch},
		{Spec: spec("ls", "List a directory of the workspace.", tools.Object("", pathArgument,
			`"limit":{"type":"integer","minimum":1,"maximum":5000,"description":"Most entries; 500 if absent."}`)), Do: f.list},
		{Spec: spec("grep", "Search the workspace's files for a regular expression.", tools.Object("pattern",
			`"pattern":{"type":"string","minLength":1,"maxLength":2000,"description":"A regular expression, or a literal text."}`, pathArgument,
			`"glob":{"type":"string","maxLength":500,"description":"Only files that match, for example *.go."}`,
			`"ignoreCase":{"type":"boolean"}`, `"literal":{"type":"boolean"}`,
			`"context":{"type":"integer","minimum":0,"maximum":20,"description":"Lines around each match."}`,
			`"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"Most matches; 100 if absent."}`)), Do: f.grep},
		{Spec: spec("find", "Find files of the workspace by a glob pattern, for example **/*.go.", tools.Object("pattern",
			`"pattern":{"type":"string","minLength":1,"maxLength":500}`, pathArgument,
			`"limit":{"type":"integer","minimum":1,"maximum":5000,"description":"Most results; 1000 if absent."}`)), Do: f.find},
	}
	for i := range all { // OpenClaw's tools take these too
		all[i].Aliases = map[string]string{"file_path": "path"}
		if all[i].Name == "edit" {
			all[i].Aliases = map[string]string{"file_path": "path", "old_string": "oldText", "new_string": "newText"}
		}
	}
	return all
}

const (
	pathArgument = `"path":{"type":"string","maxLength":4096,"description":"Path in the workspace, relative to it or absolute."}`
	oldArgument  = `"oldText":{"type":"string","minLength":1}`
	newArgument  = `"newText":{"type":"string"}`
)

func spec(name, description string, schema json.RawMessage) tool.Spec {
	return tool.Spec{Name: name, Group: tool.GroupFiles, Label: name, Description: description, Schema: schema}
}

// alone holds the lock of a workspace.
func (f *files) alone(dir string) (unlock func()) {
	f.mu.Lock()
	lock := f.locks[dir]
	if lock == nil {
		lock = &sync.Mutex{}
		f.locks[dir] = lock
	}
	f.mu.Unlock()
	lock.Lock()
	return lock.Unlock
}
