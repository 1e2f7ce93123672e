package monitor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
)

const backupsPath = "/api/backups"

// backupTime limits the making and verification of a backup.
const backupTime = 30 * time.Minute

// Copy is a finished backup.
type Copy struct {
	File  string `json:"file"`
	Seq   int64  `json:"seq"` // the newest event in it
	Bytes int64  `json:"bytes"`
}

// backupAnswer answers POST /api/backups.
type backupAnswer struct {
	OK bool `json:"ok"`
	Copy
}

// backUp makes a backup. It completes even if the client leaves.
func (s *Server) backUp(c echo.Context) error {
	switch {
	case !skipBody(c):
		return tooLarge()
	case s.opts.Backup == nil:
		return &problem{Status: http.StatusConflict, Code: "not_here", Message: "No backups are made here", Hint: "ask the server that writes the log"}
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(backupTime)) // a connection without deadlines blocks
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Request().Context()), backupTime)
	defer stop()
	made, err := s.opts.Backup(ctx)
	if err != nil {
		return s.notBackedUp(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, backupAnswer{true, made})
}

func (s *Server) notBackedUp(err error) error {
	s.opts.Logger.Error("backup failed", "err", err)
	if locked, ok := errors.AsType[*eventstore.LockedError](err); ok {
		return &problem{Status: http.StatusConflict, Code: locked.Code(), Message: "Another backup is in progress", Hint: "wait until it is done", RetryAfter: 10}
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) && coded.Code() == "no_room" {
		return &problem{Status: http.StatusInsufficientStorage, Code: coded.Code(), Message: "Not enough disk space for a backup", Hint: coded.Hint()}
	}
	return err
}
