package monitor

import (
	"errors"
	"net/http"
	"syscall"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/workspace"
)

// workspaceFilePath is write-only. A GET is 404, as in the original.
const workspaceFilePath = "/api/workspace-file"

func nothing(echo.Context) error { return notFound("Not found") }

// fileAnswer answers POST /api/workspace-file.
type fileAnswer struct {
	OK    bool   `json:"ok"`
	Path  string `json:"path"`  // as normalized
	Bytes int    `json:"bytes"` // bytes in UTF-8
}

// writeFile replaces a file in an agent's workspace atomically.
func (s *Server) writeFile(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	path, _ := body["path"].(string)
	content, ok := body["content"].(string)
	if path == "" || !ok {
		return &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "path and content are required",
			Hint: `send {"path": "workspace-<agent>/...", "content": "..."}, both strings; content may be empty`}
	}
	written, err := s.opts.Workspace.Write(path, []byte(content))
	if err != nil {
		return s.writeError(path, err)
	}
	s.opts.Logger.Info("workspace file written", "path", written, "bytes", len(content))
	return s.answerFiles(c, fileAnswer{OK: true, Path: written, Bytes: len(content)})
}

func (s *Server) writeError(path string, err error) error {
	var refused *workspace.RefusedError
	switch {
	case isFull(err):
		s.opts.Logger.Error("cannot write workspace file: disk full", "path", path, "err", err)
		return noSpace("nothing was changed")
	case !errors.As(err, &refused):
		s.opts.Logger.Error("cannot write workspace file", "path", path, "err", err)
		return &problem{Status: http.StatusInternalServerError, Code: "write_failed", Message: "Failed to write file",
			Hint: "see the server's log; nothing was changed"}
	case refused.Reason == workspace.ReasonSize:
		return tooLarge()
	case refused.Reason == workspace.ReasonSpecial, refused.Reason == workspace.ReasonFolder:
		return &problem{Status: http.StatusConflict, Code: "not_a_file", Message: "Failed to write file", Field: "path",
			Hint: coordination.Shown(refused.Path) + ": " + refused.Reason}
	}
	return &problem{Status: http.StatusForbidden, Code: "path_not_allowed", Message: "Path traversal not allowed", Field: "path",
		Hint: coordination.Shown(refused.Path) + ": " + refused.Reason + "; name a file below a directory workspace-<agent>"}
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// noSpace is the error for a full disk, saying what happened to the data.
func noSpace(outcome string) *problem {
	return &problem{Status: http.StatusInsufficientStorage, Code: "disk_full", Message: "The disk is full",
		Hint: "free space on the volume of the workspaces; " + outcome}
}
