package prompt

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/workspace"
)

// Workspace files that prompts include.
const (
	AgentsFile    = "AGENTS.md"
	SoulFile      = "SOUL.md"
	IdentityFile  = "IDENTITY.md"
	UserFile      = "USER.md"
	ToolsFile     = "TOOLS.md"
	MemoryFile    = "MEMORY.md"
	TaskFile      = "CURRENT_TASK.md"
	HeartbeatFile = "HEARTBEAT.md"
)

// FilesOf lists the files included in a session of a kind. Those that change least come first, so that providers can
// cache the beginning. Sessions with other readers have no HEARTBEAT.md, because its answer would be posted to them;
// sessions with another agent have only what cooperation needs, and those started for one task only what that needs.
func FilesOf(kind coordination.KeyKind) []string {
	switch kind {
	case coordination.KeyA2A:
		return []string{AgentsFile, ToolsFile, IdentityFile}
	case coordination.KeySubagent, coordination.KeyCron:
		return []string{AgentsFile, ToolsFile, IdentityFile, SoulFile, UserFile}
	case coordination.KeyMain, coordination.KeyDirect, coordination.KeyAlias:
		return []string{AgentsFile, ToolsFile, IdentityFile, SoulFile, UserFile, HeartbeatFile, MemoryFile, TaskFile}
	default: // channels, groups and unknown kinds
		return []string{AgentsFile, ToolsFile, IdentityFile, SoulFile, UserFile, MemoryFile, TaskFile}
	}
}

// Bounds of files, in characters.
const (
	MaxFile     = 20_000
	MaxAllFiles = 150_000

	headShare, tailShare = 0.7, 0.2 // of the limit, for a file that exceeds it
	leastOfFile          = 1_000    // of a file that is cut; if there is less room, it is left out
)

// FileState is how a prompt treats a file.
type FileState string

const (
	FileTold    FileState = "told"
	FileCut     FileState = "cut" // only its beginning and its end are included
	FileEmpty   FileState = "empty"
	FileMissing FileState = "missing"
	FileRefused FileState = "refused"  // not read, for Reason
	FileLeftOut FileState = "left_out" // earlier files take all the room
)

// File reports how a prompt treats a file of the workspace.
type File struct {
	Name   string    `json:"name"`
	State  FileState `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Bytes  int64     `json:"bytes"` // of the file
	Chars  int       `json:"chars"` // included, with the mark of a cut
	Tokens int       `json:"tokens"`
}

const noRoom = "no room: earlier files, or the limit of the model, leave too little"

// NotText is the Reason of an included file that contains invalid UTF-8.
const NotText = "contains invalid UTF-8; replaced by U+FFFD"

// readFiles reads the files that a session includes.
func readFiles(dir string, key coordination.SessionKey) []workspace.Excerpt {
	if dir == "" {
		return nil
	}
	return workspace.New(dir, workspace.Options{}).Excerpts(FilesOf(kindOf(key)), MaxFile, share(MaxFile, headShare), share(MaxFile, tailShare))
}

// kindOf is the kind of a session. An alias that names a job or a hook counts as a job.
func kindOf(key coordination.SessionKey) coordination.KeyKind {
	if key.IsHook() || key.Kind == coordination.KeyAlias && strings.HasPrefix(key.ID, "cron:") {
		return coordination.KeyCron
	}
	return key.Kind
}

func share(n int, of float64) int { return int(float64(n) * of) }

// tellFile returns the text of a file for a prompt, in at most most characters.
func tellFile(e *workspace.Excerpt, most int) (text string, f File) {
	f = File{Name: e.Name, Bytes: e.Bytes}
	var refused *workspace.RefusedError
	switch {
	case errors.As(e.Err, &refused):
		f.State, f.Reason = FileRefused, refused.Reason
	case errors.Is(e.Err, fs.ErrNotExist):
		f.State = FileMissing
	case e.Err != nil:
		f.State, f.Reason = FileRefused, "it cannot be read"
	case blank(e.Head) && e.Tail == "":
		f.State = FileEmpty
	case e.Tail == "" && utf8.RuneCountInString(e.Head) <= most:
		f.State, text = FileTold, e.Head
	case most < leastOfFile:
		f.State, f.Reason = FileLeftOut, noRoom
	default:
		f.State = FileCut
		end := e.Tail
		if end == "" {
			end = e.Head
		}
		text = firstOf(e.Head, share(most, headShare)) + fileMark(e) + lastOf(end, share(most, tailShare))
	}
	if e.Repaired && text != "" {
		f.Reason = NotText
	}
	f.Chars, f.Tokens = utf8.RuneCountInString(text), llm.EstimateTokens(text)
	return text, f
}
