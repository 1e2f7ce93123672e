package ndjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// TB is the common part of testing.T and rapid.T.
type TB interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// fixture is a state directory whose logs are written and followed, step by step.
type fixture struct {
	TB
	state    string
	log      *storetest.Model
	options  ndjson.FollowOptions
	follower *ndjson.Follower
	archives int
	ticks    int64 // when a file was last written: the clock of the system is too coarse for steps as short as these
	changes  []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := fixtureIn(t, t.TempDir())
	t.Cleanup(d.kill)
	return d
}

func fixtureIn(t TB, state string) *fixture {
	d := &fixture{TB: t, state: state, log: newLog()}
	d.options = ndjson.FollowOptions{
		StateDir: state, Positions: filepath.Join(state, "openclawd.db.import.json"), Import: options(d.log),
		Now: func() time.Time { return time.UnixMilli(clockMs) }, Changed: func(event string) { d.changes = append(d.changes, event) },
	}
	d.follower = ndjson.NewFollower(d.options)
	return d
}

func (d *fixture) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *fixture) path(name string) string { return filepath.Join(d.state, "logs", name) }

func (d *fixture) live() string { return d.path(ndjson.LiveLog) }

// event is a line whose event shows as its text.
func event(text string) string {
	return fmt.Sprintf(`{"type":"x","agentId":"a","ts":5,"data":{"n":%q}}`, text)
}

// write appends text to the live log.
func (d *fixture) write(text string) {
	d.Helper()
	d.appendTo(d.live(), text)
}

func (d *fixture) appendTo(path, text string) {
	d.Helper()
	d.must(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	d.must(err)
	_, err = f.WriteString(text)
	d.must(errors.Join(err, f.Close()))
	d.touch(path)
}

func (d *fixture) touch(path string) {
	d.Helper()
	d.ticks++
	at := time.UnixMilli(clockMs + d.ticks)
	d.must(os.Chtimes(path, at, at))
}

// archive is the path of the next archive.
func (d *fixture) archive() string {
	d.archives++
	return d.path(fmt.Sprintf("coordination-events-2026-02-10T08-00-%02d-%03dZ.ndjson", d.archives/1000, d.archives%1000))
}

// rotate renames the live log and returns its new path.
func (d *fixture) rotate() string {
	d.Helper()
	path := d.archive()
	d.must(os.Rename(d.live(), path))
	return path
}

// copyLive copies the live log to an archive.
func (d *fixture) copyLive() string {
	d.Helper()
	text, err := os.ReadFile(d.live())
	d.must(err)
	path := d.archive()
	d.must(os.WriteFile(path, text, 0o600))
	d.touch(path)
	return path
}

func (d *fixture) truncate() {
	d.Helper()
	d.must(os.Truncate(d.live(), 0))
	d.touch(d.live())
}

func (d *fixture) look() ndjson.FileReport {
	d.Helper()
	report, err := d.follower.Poll(context.Background())
	d.must(err)
	return report
}

// restart ends the follower as it should, kill without a farewell.
func (d *fixture) restart() {
	d.follower.Close()
	d.follower = ndjson.NewFollower(d.options)
}

// kill leaves the positions as they are on disk.
func (d *fixture) kill() {
	saved, err := os.ReadFile(d.options.Positions)
	d.follower.Close()
	if err == nil {
		err = os.WriteFile(d.options.Positions, saved, 0o600)
	} else if err = os.Remove(d.options.Positions); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		d.Errorf("put the positions back: %v", err)
	}
	d.follower = ndjson.NewFollower(d.options)
}

// stored lists the texts of all events; those of rejected lines are in brackets, with the reason.
func stored(t TB, log eventstore.Reader) (texts []string) {
	t.Helper()
	const page = 1000
	for after := int64(0); ; after += page {
		events, err := log.Read(context.Background(), after, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			texts = append(texts, textOf(t, e.Data))
		}
		if len(events) < page {
			return texts
		}
	}
}

func textOf(t TB, data []byte) string {
	t.Helper()
	var d struct{ N, Reason, Text string }
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.Reason != "" {
		return fmt.Sprintf("[%s %s]", d.Reason, d.Text)
	}
	return d.N
}

func (d *fixture) want(texts ...string) {
	d.Helper()
	if diff := cmp.Diff(texts, stored(d, d.log)); diff != "" {
		d.Fatalf("stored (-want +got):\n%s", diff)
	}
}

func lines(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(event(text) + "\n")
	}
	return b.String()
}

func TestFollowAppends(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	if report := d.look(); report.Lines != 0 {
		t.Errorf("without a directory: %+v", report)
	}
	d.write(lines("1", "2"))
	d.look()
	d.want("1", "2")
	d.write(lines("3") + "\r\n" + event("4") + "\r\n" + "broken\n")
	if report := d.look(); report.Lines != 4 || report.New != 3 || report.Blank != 1 {
		t.Errorf("report %+v", report)
	}
	d.want("1", "2", "3", "4", "[not_json broken]")
	if report := d.look(); report.Lines != 0 {
		t.Errorf("nothing new: %+v", report)
	}
	if diff := cmp.Diff([]string{"add", "change"}, d.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A line is read when its line feed is there, wherever it was cut before, also within a character.
func TestFollowWaitsForTheLineFeed(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	line := event("배포 🙏") + "\n"
	for i := range len(line) {
		d.write(line[i : i+1])
		if report := d.look(); report.Lines != int64(i/(len(line)-1)) {
			t.Fatalf("after byte %d: %+v", i, report)
		}
		if i%7 == 0 {
			d.restart()
		}
	}
	d.want("배포 🙏")
	if s := d.follower.Status(); s.Behind != 0 || s.Offset != int64(len(line)) || s.Size != s.Offset || !s.Present {
		t.Errorf("status %+v", s)
	}
}

func TestFollowReadsRotatedLogsToTheirEnd(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1"))
	d.look()
	d.write(lines("2"))
	first := d.rotate()
	d.write(lines("3"))
	d.rotate()
	d.write(lines("4"))
	d.look()
	d.want("1", "2", "3", "4")
	d.appendTo(first, lines("late")) // by a writer that had the file open
	d.write(lines("5"))
	d.look()
	d.want("1", "2", "3", "4", "late", "5")
	if report := d.look(); report.Lines != 0 {
		t.Errorf("nothing new: %+v", report)
	}
}

// What is written to a log that was renamed, before there is a new one, is read under its new name.
func TestFollowDrainsBetweenRotationAndNewLog(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1"))
	d.look()
	path := d.rotate()
	d.look()
	d.appendTo(path, lines("2")+event("3")[:9])
	d.look()
	d.want("1", "2")
	d.appendTo(path, event("3")[9:]+"\n")
	d.look()
	d.write(lines("4"))
	d.look()
	d.want("1", "2", "3", "4")
	if diff := cmp.Diff([]string{"unlink", "add"}, d.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// The open file still leads to a log that was renamed to a name of no log.
func TestFollowDrainsWhatHasLostItsName(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1"))
	d.look()
	d.write(lines("2"))
	d.must(os.Rename(d.live(), d.live()+".1"))
	d.look()
	d.want("1", "2")
	d.appendTo(d.live()+".1", lines("3"))
	d.write(lines("4"))
	d.look()
	d.want("1", "2", "3", "4")
}

// No line is lost silently: a last line that will not be continued is an event if it is complete, and a rejected line if not.
func TestFollowSettlesUnfinishedLines(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1") + event("whole"))
	d.look()
	d.want("1")
	d.rotate()
	d.look()
	d.want("1")
	d.write(event("cut")[:20])
	d.look()
	d.want("1", "whole")
	path := d.rotate()
	d.write(lines("2"))
	d.look()
	cut := "[unfinished " + event("cut")[:20] + "]"
	d.want("1", "whole", cut, "2")
	for _, again := range []func(){d.restart, d.kill, func() { d.must(os.Remove(d.options.Positions)) }} {
		d.restart()
		again()
		d.look()
		d.want("1", "whole", cut, "2")
	}
	d.appendTo(path, event("cut")[20:]+"\n")
	d.look()
	d.want("1", "whole", cut, "2", "cut")
}

func TestFollowImportsArchivesFirst(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1", "same"))
	d.rotate()
	d.write(lines("same", "2"))
	d.rotate()
	d.write(lines("3"))
	d.look()
	d.want("1", "same", "same", "2", "3")
	// A newly found log is read before all others: everything is read again, and only its lines are new.
	d.appendTo(d.path("coordination-events-2025-12.ndjson"), lines("0"))
	d.look()
	d.want("1", "same", "same", "2", "3", "0")
	d.write(lines("4"))
	d.look()
	d.want("1", "same", "same", "2", "3", "0", "4")
}

func TestFollowSurvivesCopyAndTruncate(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*fixture){
		"unseen":     func(*fixture) {},
		"seen":       func(d *fixture) { d.look() },
		"restarting": func(d *fixture) { d.look(); d.restart() },
		"killed":     func(d *fixture) { d.look(); d.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			long := strings.Repeat("x", 5000) // more than what is compared at the ends
			d.write(lines("1", "2", long))
			d.look()
			d.write(lines("3"))
			look(d)
			d.copyLive()
			look(d) // the same lines lie in two files
			d.truncate()
			look(d)
			d.write(lines("4"))
			look(d)
			d.write(lines("5", long, long))
			d.look()
			d.want("1", "2", long, "3", "4", "5", long, long)
		})
	}
}

// A replaced log is noticed, whether it is shorter, longer or of the same size.
func TestFollowSeesTruncationWithoutACopy(t *testing.T) {
	t.Parallel()
	for _, now := range [][]string{{"4"}, {"4", "5", "6"}, {"4", "5", "6", "7", "8"}} {
		d := newFixture(t)
		d.write(lines("1", "2", "3"))
		d.look()
		d.truncate()
		d.write(lines(now...))
		d.look()
		d.want(append([]string{"1", "2", "3"}, now...)...)
	}
}

func TestFollowSurvivesReplacement(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	replace := func(text string) {
		t.Helper()
		d.appendTo(d.live()+".tmp", text)
		d.must(os.Rename(d.live()+".tmp", d.live()))
		d.look()
	}
	d.write(lines("1", "2", "2"))
	d.look()
	replace(lines("1", "2", "2"))
	d.want("1", "2", "2")
	replace(lines("1", "2", "2", "3"))
	d.want("1", "2", "2", "3")
	replace(lines("0", "1", "2", "2", "3", "4")) // it was edited
	d.want("1", "2", "2", "3", "0", "4")
	replace(lines("4"))
	d.write(lines("5"))
	d.look()
	d.want("1", "2", "2", "3", "0", "4", "5")
	d.must(os.Remove(d.live()))
	d.look()
	d.write(lines("6"))
	d.look()
	d.want("1", "2", "2", "3", "0", "4", "5", "6")
}

// Equal lines are as many events as there are lines, whether they come before or after a restart, and whatever is left of the positions.
func TestFollowTellsEqualLinesApart(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var want []string
	steps := []func(){
		func() {}, d.restart, d.kill, func() { d.look(); d.kill() }, func() { d.rotate() }, func() { d.rotate(); d.look(); d.kill() },
		func() { d.restart(); d.must(os.Remove(d.options.Positions)) },
		func() { d.restart(); d.must(os.WriteFile(d.options.Positions, []byte("{torn"), 0o600)) },
	}
	for i := range 8 * len(steps) {
		d.write(lines("same") + "bad\n")
		want = append(want, "same", "[not_json bad]")
		if i%3 > 0 {
			d.look()
		}
		steps[i*5%len(steps)]()
	}
	d.look()
	d.want(want...)
}

// Reading again from old positions adds nothing that is already stored.
func TestFollowResumesFromStalePositions(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1", "same"))
	d.look()
	d.restart()
	old, err := os.ReadFile(d.options.Positions)
	d.must(err)
	d.write(lines("same", "2", "same"))
	d.look()
	d.rotate()
	d.write(lines("same", "3"))
	d.look()
	d.restart()
	d.must(os.WriteFile(d.options.Positions, old, 0o600))
	d.follower = ndjson.NewFollower(d.options)
	d.write(lines("same"))
	if report := d.look(); report.Lines != 6 || report.New != 1 {
		t.Errorf("report %+v", report)
	}
	d.want("1", "same", "same", "2", "same", "same", "3", "same")
}

// Positions of another event log say nothing about this one.
func TestFollowIgnoresPositionsOfAnotherLog(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1", "2"))
	d.look()
	d.restart()
	d.log = newLog()
	other := eventstore.NewEvent{Type: "other", Data: json.RawMessage(`{"n":"other"}`)}
	if _, err := d.log.Append(t.Context(), eventstore.StreamAppend{Stream: "s", Events: []eventstore.NewEvent{other, other, other}}); err != nil {
		t.Fatal(err)
	}
	d.options.Import = options(d.log)
	d.follower = ndjson.NewFollower(d.options)
	d.look()
	d.want("other", "other", "other", "1", "2")
}

func TestFollowReadsAFinishedLogWhole(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.options.Finished = true
	d.restart()
	d.write(lines("1") + event("2"))
	if bytes, files, err := d.follower.Pending(t.Context()); err != nil || files != 1 || bytes != int64(len(lines("1", "2"))-1) {
		t.Errorf("pending %d bytes of %d files, %v", bytes, files, err)
	}
	d.look()
	d.want("1", "2")
	d.restart()
	d.write("\n" + lines("3") + `{"half`)
	for range 2 {
		d.look()
		d.want("1", "2", "3")
	}
}

// A log elsewhere, or a pipe, cannot be recognised after a change.
func TestFollowLeavesLinksAlone(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var warnings strings.Builder
	d.options.Logger = slog.New(slog.NewTextHandler(&warnings, nil))
	d.restart()
	d.appendTo(d.path("elsewhere"), lines("1"))
	d.must(os.Symlink(d.path("elsewhere"), d.live()))
	for range 3 {
		d.look()
	}
	d.want()
	if strings.Count(warnings.String(), d.live()) != 1 {
		t.Errorf("warnings: %s", warnings.String())
	}
}

// A state directory that was moved elsewhere is recognised by what is in it.
func TestFollowRecognisesCopiedDirectories(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("1"))
	d.rotate()
	d.write(lines("2"))
	d.look()
	d.restart()
	next := t.TempDir()
	d.must(os.CopyFS(next, os.DirFS(d.state)))
	d.state, d.options.StateDir = next, next
	d.follower = ndjson.NewFollower(d.options)
	d.write(lines("3"))
	if report := d.look(); report.Lines != 1 {
		t.Errorf("report %+v", report)
	}
	d.want("1", "2", "3")
}

// The log may also be copied and truncated, or renamed, between check and read.
func TestFollowSurvivesRotationWithinALook(t *testing.T) {
	t.Parallel()
	for name, rotate := range map[string]func(*fixture){
		"copied":  func(d *fixture) { d.copyLive(); d.truncate() },
		"renamed": func(d *fixture) { d.rotate() },
	} {
		for before := range 2 { // lines that are stored when it happens
			t.Run(fmt.Sprintf("%s after %d", name, before), func(t *testing.T) {
				t.Parallel()
				d := newFixture(t)
				want := []string{"1"}[:before]
				rotated := false
				d.options.Changed = func(string) {
					if !rotated {
						rotated = true
						rotate(d)
						d.write(lines("4", "5", "6", "7", "8"))
					}
				}
				d.restart()
				if before > 0 {
					d.write(lines(want...))
				}
				d.look()
				d.write(lines("2", "3"))
				d.look()
				d.look()
				d.want(append(want, "2", "3", "4", "5", "6", "7", "8")...)
			})
		}
	}
}
