package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
)

const verifyTail = "/verify"

// maxBackups limits the list of backups.
const maxBackups = 500

// Backups are the finished backups of the log.
type Backups interface {
	// List returns all, newest first.
	List() ([]BackupFile, error)
	// Has reports whether there is a backup of this name. Names of other files, and paths, are none.
	Has(name string) (bool, error)
	// Verify reads a backup and records that it is unchanged and complete. Errors that say why it is not are
	// eventstore.Coded.
	Verify(ctx context.Context, name string) error
}

// BackupFile is a backup.
type BackupFile struct {
	Name       string `json:"name"`
	Seq        int64  `json:"seq"` // the newest event in it
	Bytes      int64  `json:"bytes"`
	AtMS       int64  `json:"atMs"`       // when it was started
	VerifiedMS *int64 `json:"verifiedMs"` // when it was last verified; null: never
	Archives   bool   `json:"archives"`   // it needs archives of payloads, which are beside it
}

// BackupJob is the making or the verification of a backup.
type BackupJob struct {
	Kind      string `json:"kind"`  // make, verify
	State     string `json:"state"` // running, done, failed
	Name      string `json:"name,omitempty"`
	StartedMS int64  `json:"startedMs"`
	EndedMS   *int64 `json:"endedMs"`
	Code      string `json:"code,omitempty"` // why it failed
	Error     string `json:"error,omitempty"`
	Hint      string `json:"hint,omitempty"`
}

// backupList answers GET /api/backups.
type backupList struct {
	Backups []BackupFile `json:"backups"`
	Total   int          `json:"total"`
	Job     *BackupJob   `json:"job"` // the one in progress, else the last one since the start; null: none
}

// backupStarted answers requests whose job goes on.
type backupStarted struct {
	OK  bool      `json:"ok"`
	Job BackupJob `json:"job"`
}

// backupJobs does one thing with backups at a time. What is to be done in the background is done by run.
type backupJobs struct {
	mu   sync.Mutex
	last *BackupJob
	next chan func(context.Context)
}

func newBackupJobs() *backupJobs { return &backupJobs{next: make(chan func(context.Context), 1)} }

// run does the jobs that were started in the background, until ctx ends.
func (j *backupJobs) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-j.next:
			job(ctx)
		}
	}
}

// begin takes the turn for a job; false if another one is in progress.
func (j *backupJobs) begin(job BackupJob) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last != nil && j.last.State == "running" {
		return false
	}
	j.last = &job
	return true
}

// end ends the job in progress.
func (j *backupJobs) end(name string, now time.Time, refused *problem) {
	j.mu.Lock()
	defer j.mu.Unlock()
	done, ms := *j.last, now.UnixMilli()
	done.State, done.EndedMS = "done", &ms
	if name != "" {
		done.Name = name
	}
	if refused != nil {
		done.State, done.Code, done.Error, done.Hint = "failed", refused.Code, refused.Message, refused.Hint
	}
	j.last = &done
}

func (j *backupJobs) current() *BackupJob {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// listBackups answers GET /api/backups.
func (s *Server) listBackups(c echo.Context) error {
	if s.opts.Backups == nil {
		return noBackups()
	}
	list, err := s.opts.Backups.List()
	if err != nil {
		return err
	}
	answer := backupList{Backups: list[:min(len(list), maxBackups)], Total: len(list), Job: s.backupJobs.current()}
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

// verifyBackup answers POST /api/backups/:name/verify. The verification goes on after the answer.
func (s *Server) verifyBackup(c echo.Context) error {
	name, err := pathID(c, verifyTail)
	switch {
	case err != nil:
		return err
	case !skipBody(c):
		return tooLarge()
	case s.opts.Backups == nil:
		return noBackups()
	}
	there, err := s.opts.Backups.Has(name)
	if err != nil {
		return err
	}
	if !there {
		return &problem{Status: http.StatusNotFound, Code: "not_found", Message: "No such backup", Field: "name", Hint: "GET /api/backups lists them by name"}
	}
	return s.startBackupJob(c, BackupJob{Kind: "verify", Name: name}, func(ctx context.Context) (string, error) {
		return name, s.opts.Backups.Verify(ctx, name)
	})
}

// startBackupJob answers 202 and does the job in the background.
func (s *Server) startBackupJob(c echo.Context, job BackupJob, do func(context.Context) (name string, err error)) error {
	job.State, job.StartedMS = "running", s.opts.Now().UnixMilli()
	if !s.backupJobs.begin(job) {
		return backupBusy()
	}
	s.backupJobs.next <- func(ctx context.Context) { // never blocks: one job at a time
		ctx, stop := context.WithTimeout(ctx, backupTime)
		defer stop()
		name, err := guarded(func() (string, error) { return do(ctx) })
		s.backupJobs.end(name, s.opts.Now(), s.backupFailure(job, err))
	}
	s.position(c)
	return writeJSON(c, http.StatusAccepted, backupStarted{true, job})
}

// guarded turns a panic of a job into an error: the job ends, and the server goes on.
func guarded(do func() (name string, err error)) (name string, err error) {
	defer func() {
		if p := recover(); p != nil {
			name, err = "", fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// backupFailure is why a job failed; nil if it did not. Errors that are not the caller's are only logged.
func (s *Server) backupFailure(job BackupJob, err error) *problem {
	if err == nil {
		return nil
	}
	s.opts.Logger.Error("backup failed", "kind", job.Kind, "name", job.Name, "err", err)
	var coded eventstore.Coded
	if refused, is := errors.AsType[*problem](backupProblem(err)); is {
		return refused
	}
	if errors.As(err, &coded) {
		return &problem{Code: coded.Code(), Message: backupMessage(coded.Code()), Hint: coded.Hint()}
	}
	return &problem{Code: "internal", Message: "Internal server error", Hint: "see the server's log"}
}

// backupMessage says what a failed verification found, without the path that the error names.
func backupMessage(code string) string {
	switch code {
	case "backup_mismatch":
		return "The file differs from its manifest"
	case "live_database":
		return "The file is a database in use"
	case "corrupt":
		return "The file is damaged"
	}
	return "The backup cannot be verified"
}

func backupBusy() *problem {
	return &problem{Status: http.StatusConflict, Code: "locked", Message: "Another backup is in progress", Hint: "wait until it is done", RetryAfter: 10}
}

func noBackups() *problem {
	return &problem{Status: http.StatusConflict, Code: "not_here", Message: "No backups are made here", Hint: "ask the server that writes the log"}
}
