package monitor

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
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

// name is the name of the file; "" if there is none.
func (c *Copy) name() string {
	if c.File == "" {
		return ""
	}
	return filepath.Base(c.File)
}

// backupAnswer answers POST /api/backups.
type backupAnswer struct {
	OK bool `json:"ok"`
	Copy
}

// backUp makes a backup. It completes even if the client leaves. With wait=false the answer does not wait for it.
func (s *Server) backUp(c echo.Context) error {
	p := parametersOf(c)
	waits := p.word("wait", "true", "false") != "false"
	switch {
	case p.err != nil:
		return p.err
	case !skipBody(c):
		return tooLarge()
	case s.opts.Backup == nil:
		return noBackups()
	case !waits:
		return s.startBackupJob(c, BackupJob{Kind: "make"}, func(ctx context.Context) (string, error) {
			made, err := s.opts.Backup(ctx)
			return made.name(), err
		})
	}
	if !s.backupJobs.begin(BackupJob{Kind: "make", State: "running", StartedMS: s.opts.Now().UnixMilli()}) {
		return backupBusy()
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(backupTime)) // a connection without deadlines blocks
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Request().Context()), backupTime)
	defer stop()
	var made Copy
	_, err := guarded(func() (name string, err error) {
		made, err = s.opts.Backup(ctx)
		return "", err
	})
	s.backupJobs.end(made.name(), s.opts.Now(), s.backupFailure(BackupJob{Kind: "make"}, err))
	if err != nil {
		return backupProblem(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, backupAnswer{true, made})
}

// backupProblem converts an error of making a backup.
func backupProblem(err error) error {
	if _, is := errors.AsType[*eventstore.LockedError](err); is {
		return backupBusy()
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) && coded.Code() == "no_room" {
		return &problem{Status: http.StatusInsufficientStorage, Code: coded.Code(), Message: "Not enough disk space for a backup", Hint: coded.Hint()}
	}
	return err
}
