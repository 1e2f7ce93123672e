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

// backupTime is how long a backup may take to be made and proved.
const backupTime = 30 * time.Minute

// Copy is a backup that was made.
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

// backUp makes a backup. Who leaves before does not keep it from being done to its end.
func (s *Server) backUp(c echo.Context) error {
	switch {
	case !skipBody(c):
		return tooLarge()
	case s.opts.Backup == nil:
		return &problem{Status: http.StatusConflict, Code: "not_here", Message: "No backups are made here", Hint: "ask the server that writes the log"}
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(backupTime)) // one that has no deadlines waits
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Request().Context()), backupTime)
	defer stop()
	made, err := s.opts.Backup(ctx)
	if err != nil {
		return s.notBackedUp(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, backupAnswer{true, made})
}

// notBackedUp gives the reasons why there is no backup their status.
func (s *Server) notBackedUp(err error) error {
	s.opts.Logger.Error("no backup was made", "err", err)
	if locked, ok := errors.AsType[*eventstore.LockedError](err); ok {
		return &problem{Status: http.StatusConflict, Code: locked.Code(), Message: "Another backup is being made", Hint: "wait for it", RetryAfter: 10}
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) && coded.Code() == "no_room" {
		return &problem{Status: http.StatusInsufficientStorage, Code: coded.Code(), Message: "There is too little room for a backup", Hint: coded.Hint()}
	}
	return err
}
