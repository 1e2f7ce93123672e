package monitor

import (
	"errors"
	"net/http"
	"syscall"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/workspace"
)

// workspaceFilePath is only written to. Asked, it is not there, as in the original.
const workspaceFilePath = "/api/workspace-file"

func nothing(echo.Context) error { return notFound("Not found") }

// fileAnswer answers POST /api/workspace-file.
type fileAnswer struct {
	OK    bool   `json:"ok"`
	Path  string `json:"path"`  // as it was understood
	Bytes int    `json:"bytes"` // in UTF-8
}

// writeFile puts a file into an agent's workspace, as a whole or not at all.
func (s *Server) writeFile(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	path, _ := body["path"].(string)
	content, ok := body["content"].(string)
	if path == "" || !ok {
		return &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "path and content are required",
			Hint: `send {"path": "workspace-<agent>/...", "content": "..."}, both as text; content may be empty`}
	}
	written, err := s.opts.Workspace.Write(path, []byte(content))
	if err != nil {
		return s.unwritten(path, err)
	}
	s.opts.Logger.Info("workspace file written", "path", written, "bytes", len(content))
	return s.answerFiles(c, fileAnswer{OK: true, Path: written, Bytes: len(content)})
}

func (s *Server) unwritten(path string, err error) error {
	var refused *workspace.RefusedError
	switch {
	case isFull(err):
		s.opts.Logger.Error("workspace file not written: the disk is full", "path", path, "err", err)
		return noSpace("nothing has changed")
	case !errors.As(err, &refused):
		s.opts.Logger.Error("workspace file not written", "path", path, "err", err)
		return &problem{Status: http.StatusInternalServerError, Code: "write_failed", Message: "Failed to write file",
			Hint: "the log of the server says why; nothing has changed"}
	case refused.Reason == workspace.ReasonSize:
		return tooLarge()
	case refused.Reason == workspace.ReasonSpecial, refused.Reason == workspace.ReasonFolder:
		return &problem{Status: http.StatusConflict, Code: "not_a_file", Message: "Failed to write file", Field: "path",
			Hint: shortened(refused.Path) + ": " + refused.Reason}
	}
	return &problem{Status: http.StatusForbidden, Code: "path_not_allowed", Message: "Path traversal not allowed", Field: "path",
		Hint: shortened(refused.Path) + ": " + refused.Reason + "; name a file below a directory workspace-<agent>"}
}

// isFull reports whether a file was not written for want of room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// noSpace says that the volume of the workspaces is full, and what has become of what was to be written.
func noSpace(outcome string) *problem {
	return &problem{Status: http.StatusInsufficientStorage, Code: "disk_full", Message: "The disk is full",
		Hint: "free space on the volume of the workspaces; " + outcome}
}
