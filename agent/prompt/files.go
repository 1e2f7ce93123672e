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

// Files of a workspace that models are told.
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

// FilesOf are the files that are told in a session of some kind, those that change least first, so that providers may keep their
// beginning. Where others read along there is no HEARTBEAT.md, for its answer would be said to them; another agent is told nothing but how
// to work together, and what was started for one task only what that takes.
func FilesOf(kind coordination.KeyKind) []string {
	switch kind {
	case coordination.KeyA2A:
		return []string{AgentsFile, ToolsFile, IdentityFile}
	case coordination.KeySubagent, coordination.KeyCron:
		return []string{AgentsFile, ToolsFile, IdentityFile, SoulFile, UserFile}
	case coordination.KeyMain, coordination.KeyDirect, coordination.KeyAlias:
		return []string{AgentsFile, ToolsFile, IdentityFile, SoulFile, UserFile, HeartbeatFile, MemoryFile, TaskFile}
	default: // channels, groups, and what is not known
		return []string{AgentsFile, ToolsFile, IdentityFile, SoulFile, UserFile, MemoryFile, TaskFile}
	}
}

// Bounds of files, in characters.
const (
	MaxFile     = 20_000
	MaxAllFiles = 150_000

	headShare, tailShare = 0.7, 0.2 // of what a file may have, where it has more
	leastOfFile          = 1_000    // that are told of a file which is cut; with room for less it is left out
)

// FileState says what became of a file.
type FileState string

const (
	FileTold    FileState = "told"
	FileCut     FileState = "cut" // its beginning and its end are told
	FileEmpty   FileState = "empty"
	FileMissing FileState = "missing"
	FileRefused FileState = "refused"  // it is not read, for Reason
	FileLeftOut FileState = "left_out" // the files before it take all the room
)

// File says what became of a file of the workspace.
type File struct {
	Name   string    `json:"name"`
	State  FileState `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Bytes  int64     `json:"bytes"` // of the file
	Chars  int       `json:"chars"` // that are told, the mark of a cut included
	Tokens int       `json:"tokens"`
}

const noRoom = "there is no room for it: the files before it, or what the model can read, leave too little"

// NotText is the Reason of a file that is told though it is not UTF-8 all through.
const NotText = "it is not UTF-8 all through; what is not is told as U+FFFD"

// readFiles reads what is told in a session.
func readFiles(dir string, key coordination.SessionKey) []workspace.Excerpt {
	if dir == "" {
		return nil
	}
	return workspace.New(dir, workspace.Options{}).Excerpts(FilesOf(kindOf(key)), MaxFile, share(MaxFile, headShare), share(MaxFile, tailShare))
}

// kindOf is the kind of a session, of which an alias that names a job or a hook has that of a job.
func kindOf(key coordination.SessionKey) coordination.KeyKind {
	if key.Kind == coordination.KeyAlias && (strings.HasPrefix(key.ID, "cron:") || strings.HasPrefix(key.ID, "hook:")) {
		return coordination.KeyCron
	}
	return key.Kind
}

func share(n int, of float64) int { return int(float64(n) * of) }

// tellFile gives what is told of a file in at most so many characters.
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
