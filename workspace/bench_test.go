package workspace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/workspace"
)

func benchHome(b *testing.B, tasks, months int) *home {
	b.Helper()
	h := newHome(b, workspace.Options{})
	for i := range tasks {
		h.write(b, fmt.Sprintf("workspace-eden/tasks/task_%05d.md", i), "## Metadata\n- **Status:** pending\n\n## Description\n"+strings.Repeat("일 ", 300)+
			"\n\n## Steps\n"+strings.Repeat("- [ ] (s1) step\n", 10))
	}
	for i := range months {
		h.write(b, fmt.Sprintf("workspace-eden/task-history/%04d-%02d.md", 2000+i/12, i%12+1),
			strings.Repeat(fmt.Sprintf("## [x] y\n**Task ID:** task_%d\n### Progress\n- Task completed\n", i), 1_000))
	}
	h.settle()
	return h
}

func BenchmarkTasks500(b *testing.B) {
	h := benchHome(b, 500, 0)
	for b.Loop() {
		if tasks, err := h.Tasks("eden"); err != nil || len(tasks.Tasks) != 500 {
			b.Fatal(err)
		}
	}
}

func BenchmarkHistoryOf24Months(b *testing.B) {
	h := benchHome(b, 0, 24)
	for b.Loop() {
		if entry, err := h.HistoryOf("eden", "task_0"); err != nil || entry == nil {
			b.Fatal(err)
		}
	}
}

// The cost of a wake-up without changes among many files.
func BenchmarkLookAt10000(b *testing.B) {
	h := benchHome(b, 10_000, 0)
	w := h.NewWatch()
	if c := w.Check("workspace-eden/tasks"); len(c) != 10_000 {
		b.Fatal(len(c))
	}
	for b.Loop() {
		if c := w.Check("workspace-eden/tasks"); len(c) > 0 {
			b.Fatal(len(c))
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	h := benchHome(b, 1, 0)
	content := []byte(strings.Repeat("x", 4_000))
	for b.Loop() {
		if _, err := h.Write("workspace-eden/tasks/task_w.md", content); err != nil {
			b.Fatal(err)
		}
	}
}
