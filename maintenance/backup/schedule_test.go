package backup_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// scheduled runs a schedule on a real log under the bubble's clock, and ends both.
func scheduled(t *testing.T, dir string, every time.Duration, do func(s *backup.Schedule)) {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{}, definitions()...)
	fill(t, db, 3)
	s := &backup.Schedule{Log: db, File: db.Path(), Dir: dir, Every: every, Keep: 2, Now: time.Now, Version: "test", Logger: slog.New(slog.DiscardHandler)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	do(s)
	stop()
	if err := errors.Join(<-ended, db.Close()); err != nil {
		t.Error(err)
	}
}

// until advances time to just after a moment.
func until(at time.Time) {
	<-time.After(time.Until(at) + time.Millisecond)
	synctest.Wait()
}

func backups(t *testing.T, dir string) int {
	t.Helper()
	list, err := backup.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// The first backup is made ten minutes after a new server's start; then one per interval, of which the newest stay. A
// restart continues from the directory's content.
func TestScheduleBacksUpAgainAndAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		scheduled(t, dir, 24*time.Hour, func(s *backup.Schedule) {
			start := time.Now()
			until(start.Add(9 * time.Minute))
			if n := backups(t, dir); n != 0 {
				t.Errorf("%d backups before the start delay has passed", n)
			}
			for day := range 3 {
				until(start.Add(10*time.Minute + time.Duration(day)*24*time.Hour))
				if n := backups(t, dir); n != min(day+1, 2) {
					t.Errorf("day %d: %d backups", day, n)
				}
			}
			last = s.State().Last.Time
		})
		scheduled(t, dir, 24*time.Hour, func(s *backup.Schedule) {
			if next := s.State().Next; !next.Equal(last.Add(24 * time.Hour)) {
				t.Errorf("after a restart: next at %s, the last was at %s", next, last)
			}
		})
		until(last.Add(30 * time.Hour))
		scheduled(t, dir, 24*time.Hour, func(s *backup.Schedule) {
			if wait := time.Until(s.State().Next); wait < 9*time.Minute || wait > 10*time.Minute {
				t.Errorf("overdue by six hours: next in %s", wait)
			}
		})
		until(last.Add(49 * time.Hour))
		scheduled(t, dir, 24*time.Hour, func(s *backup.Schedule) {
			if age := time.Since(s.State().Last.Time); age > time.Minute {
				t.Errorf("overdue by more than a day: the newest is %s old", age)
			}
		})
	})
}

// A failed backup is shown, and retried in an hour.
func TestScheduleShowsAndRetriesWhatFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in the way
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		scheduled(t, dir, 24*time.Hour, func(s *backup.Schedule) {
			start := time.Now()
			until(start.Add(10 * time.Minute))
			state := s.State()
			if state.Error == "" || state.Failed != 1 || !state.Next.Equal(start.Add(70*time.Minute).UTC().Truncate(time.Second)) {
				t.Errorf("after a failure: %+v", state)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			until(start.Add(70 * time.Minute))
			if state := s.State(); state.Error != "" || state.Last == nil || state.Failed != 1 {
				t.Errorf("after the obstacle was removed: %+v", state)
			}
		})
	})
}

// A server notices backups made by others within a minute.
func TestScheduleSeesTheBackupsOfOthers(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{0, 24 * time.Hour} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			scheduled(t, dir, every, func(s *backup.Schedule) {
				made, err := backup.Create(t.Context(), backup.CreateOptions{Log: s.Log, Dir: dir, Now: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				until(time.Now().Add(time.Minute))
				if last := s.State().Last; last == nil || last.File != made.File {
					t.Errorf("every %s: the newest is %+v, not %s", every, last, made.File)
				}
			})
		})
	}
}

func TestScheduleWithoutAPauseDoesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		scheduled(t, dir, 0, func(s *backup.Schedule) {
			until(time.Now().Add(3 * 24 * time.Hour))
			if n := backups(t, dir); n != 0 || !s.State().Next.IsZero() {
				t.Errorf("%d backups, next at %s", n, s.State().Next)
			}
		})
	})
}

// A copy that would not fit is not started.
func TestNoRoomIsSaidBeforeTheCopy(t *testing.T) {
	t.Parallel()
	var coded eventstore.Coded = &backup.NoRoomError{Dir: "/b", Free: 1, Need: 3}
	if coded.Code() != "no_room" || coded.Hint() == "" {
		t.Errorf("%s %s", coded.Code(), coded.Hint())
	}
	huge := filepath.Join(t.TempDir(), "log.db")
	f, err := os.Create(huge)
	if err == nil {
		err = errors.Join(f.Truncate(1<<43), f.Close()) // sparse, 8 TiB
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &backup.Schedule{Log: sourceFunc(func(context.Context, string) error {
			t.Error("the copy was started")
			return nil
		}), File: huge, Dir: t.TempDir(), Every: time.Hour, Keep: 1, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		until(time.Now().Add(11 * time.Minute))
		if state := s.State(); state.ErrorCode != "no_room" {
			t.Errorf("%+v", state)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
