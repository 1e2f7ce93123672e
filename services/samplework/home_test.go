package samplework

import (
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

func TestMoveTimes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"ts":1771588800000,"n":12}`:              `{"ts":1771592400000,"n":12}`,
		`- **Created:** 2026-02-20T07:00:00Z`:      `- **Created:** 2026-02-20T08:00:00.000Z`,
		`## [2026-02-19T23:30:00.250Z] 1월 작업`:      `## [2026-02-20T00:30:00.250Z] 1월 작업`,
		`"topicId":"15000000123" <@1465892123>`:    `"topicId":"15000000123" <@1465892123>`,
		`2026-13-40T07:00:00Z`:                     `2026-13-40T07:00:00Z`,
		`{"dueDate": "2026-02-28"}`:                `{"dueDate": "2026-02-27"}`,
		`"2026-13-40"`:                             `"2026-13-40"`,
		`ws_eb26c57d-21fa-4d32-1263-1771588800000`: `ws_eb26c57d-21fa-4d32-1263-1771592400000`, // why the sample has no such ids
	} {
		if diff := cmp.Diff(want, string(moveTimes([]byte(in), time.Hour))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", in, diff)
		}
	}
	const month = 30 * 24 * time.Hour
	if got := string(moveTimes([]byte(`{"dueDate": "2026-02-28"}`), month+time.Hour)); got != `{"dueDate": "2026-03-29"}` {
		t.Errorf("a date is moved to %s", got)
	}
}

// A task keeps all but its milestone, wherever its file names it; a file that names none is as it was.
func TestUnlink(t *testing.T) {
	t.Parallel()
	linked, err := fs.ReadFile(sample.Files, "workspace-eden/tasks/task_dd44.md")
	if err != nil {
		t.Fatal(err)
	}
	want, is := taskfile.Parse("task_dd44", string(linked))
	if !is || want.MilestoneID == "" || want.MilestoneItemID == "" {
		t.Fatalf("the sample has no task with a milestone any more: %+v", want)
	}
	want.MilestoneID, want.MilestoneItemID = "", ""
	unlinked := unlink("task_dd44", linked)
	got, _ := taskfile.Parse("task_dd44", string(unlinked))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if again := unlink("task_dd44", unlinked); string(again) != string(unlinked) {
		t.Errorf("a task without a milestone is changed:\n%s", again)
	}
	two := "# Task: t\n\n## Backlog\n```json\n{\"milestoneItemId\": \"i1\"}\n```\n\n## Backlog\n```json\n{\n \"milestoneId\":\n \"m1\"}\n```\n"
	if got, _ := taskfile.Parse("t", string(unlink("t", []byte(two)))); got.MilestoneID != "" || got.MilestoneItemID != "" {
		t.Errorf("a task follows an item of a milestone: %+v", got)
	}
	for _, none := range []string{"", "*(No task)*", "no task at all\n"} {
		if got := unlink("t", []byte(none)); string(got) != none {
			t.Errorf("%q has become %q", none, got)
		}
	}
}
