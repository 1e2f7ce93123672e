package tasktools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// An id is only ever looked up: a strange one names no task and has no effect.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	o.starts("ruda", "x")
	before := len(o.events(""))
	for _, id := range []string{"../../../etc/passwd", "..", "tasks/task_1", `C:\x`, "task_\x00", "' OR 1=1 --", "%", "*", "task_", strings.Repeat("a", 200), "작업",
		"\u202etask", "task/../ruda", "\n"} {
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		for name, args := range map[string]string{
			"task_update": `{"task_id":%s,"progress":"x"}`, "task_complete": `{"task_id":%s}`, "task_cancel": `{"taskId":%s}`, "task_approve": `{"task_id":%s}`,
			"task_reject": `{"task_id":%s,"reason":"x"}`,
			"task_block":  `{"task_id":%s,"reason":"x","unblock_by":["eden"]}`, "task_resume": `{"task_id":%s}`, "task_pick_backlog": `{"task_id":%s}`,
		} {
			if id == "\n" {
				continue // is trimmed: none is named
			}
			o.refuses(task.CodeUnknown, "ruda", name, args, quoted)
		}
		if id != "\n" {
			if a := o.does("ruda", "task_status", `{"task_id":%s}`, quoted); a["found"] != false {
				t.Errorf("%q: %v", id, a)
			}
		}
		o.refuses(task.CodeUnknownStep, "ruda", "task_update", `{"action":"complete_step","step_id":%s}`, quoted)
	}
	if after := len(o.events("")); after != before {
		t.Errorf("%d events were appended", after-before)
	}
	_, err := o.call(caller("ruda"), "task_status", fmt.Sprintf(`{"task_id":%q}`, long(201)))
	if wrong, is := errors.AsType[*tool.Error](err); !is || wrong.Code != tool.CodeInvalid || wrong.Field != "/task_id" {
		t.Errorf("%v", err)
	}
}

// What is too large, or cannot be stored, is refused without a trace.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	before := len(o.events(""))
	huge := long(task.MaxText + 1)
	steps := strings.Repeat(`{"content":"x"},`, task.MaxSteps-1) + `{"content":"x"}`
	for _, c := range []struct{ name, args, code string }{
		{"task_start", `{"description":"a\u0000b"}`, task.CodeInvalid},
		{"task_start", `{"description":"   "}`, task.CodeInvalid},
		{"task_start", `{"description":"` + huge + `"}`, task.CodeInvalid},
		{"task_start", `{"description":"x","context":"` + huge + `"}`, task.CodeInvalid},
		{"task_start", `{"description":"x","steps":[{"content":"` + long(task.MaxStepText+1) + `"}]}`, task.CodeInvalid},
		{"task_start", `{"description":"x","steps":[{"content":"a\u0000"}]}`, task.CodeInvalid},
		{"task_update", `{"progress":"` + long(task.MaxLine+1) + `"}`, task.CodeInvalid},
		{"task_update", `{"progress":"\u0000"}`, task.CodeInvalid},
		{"task_complete", `{"summary":"` + huge + `"}`, task.CodeInvalid},
		{"task_cancel", `{"task_id":"` + id + `","reason":"` + huge + `"}`, task.CodeInvalid},
		{"task_block", `{"reason":"` + huge + `","unblock_by":["eden"]}`, task.CodeInvalid},
		{"task_block", `{"reason":"\u0000","unblock_by":["eden"]}`, task.CodeInvalid},
		{"task_backlog_add", `{"description":"x","milestone_id":"\u0000"}`, task.CodeInvalid},
	} {
		o.refuses(c.code, "ruda", c.name, "%s", c.args)
	}
	for _, c := range []struct{ name, args string }{ // the schema says so
		{"task_start", `{"description":""}`},
		{"task_start", `{"description":"x","steps":[` + steps + `,{"content":"x"}]}`},
		{"task_start", `{"description":"x","steps":[{"content":"x","status":"flying"}]}`},
		{"task_start", `{"description":"x","agent":"eden"}`},
		{"task_update", `{"progress":1}`},
		{"task_update", `{"progress":"x","version":-1}`},
		{"task_complete", `{"force_complete":"yes"}`},
		{"task_list", `{"status":"flying"}`},
		{"task_list", `{"limit":0}`},
	} {
		_, err := o.call(caller("ruda"), c.name, c.args)
		if wrong, is := errors.AsType[*tool.Error](err); !is || wrong.Code != tool.CodeInvalid || wrong.Hint == "" {
			t.Errorf("%s %.100s: %v", c.name, c.args, err)
		}
	}
	if after := len(o.events("")); after != before {
		t.Errorf("%d events were appended", after-before)
	}
	o.refuses(task.CodeInvalid, "ruda", "task_list", `{"cursor":"nonsense"}`)
}

// Texts of any script and shape are stored exactly, secrets apart, and answers with the largest task are complete.
func TestTextsAreKept(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	text := "첫 줄\n\n## Steps\n- [x] (s9) 가짜\n---\n*Managed by task tools*\n  들여쓰기 \t\n{\"a\":1}\u200b⏎ 😀 <b>&"
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	id := o.does("ruda", "task_start", `{"description":%s,"context":%[1]s,"steps":[{"content":%[1]s}]}`, quoted).text("taskId")
	o.does("ruda", "task_update", `{"progress":%s}`, quoted)
	shown := o.task("ruda", id)
	if diff := cmp.Diff([]any{text, text, text, text}, []any{shown["description"], shown["context"], shown.list("progress")[1],
		shown.list("steps")[0].(map[string]any)["content"]}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	o.does("ruda", "task_update", `{"progress":"the key is sk-abcdefghijklmnop0123456789"}`)
	if got := fmt.Sprint(o.task("ruda", id)["progress"]); strings.Contains(got, "sk-abcdef") {
		t.Errorf("a secret is kept: %s", got)
	}
	for i := range 30 {
		o.does("ruda", "task_update", `{"progress":"%d %s"}`, i, strings.Repeat("가", 2_000))
	}
	if shown := o.task("ruda", id); shown.number("progressCount") != 33 || len(shown.list("progress")) >= 33 ||
		!strings.HasPrefix(shown.list("progress")[len(shown.list("progress"))-1].(string), "29 ") {
		t.Errorf("%d of %v lines", len(shown.list("progress")), shown["progressCount"])
	}
}

// A task that is larger than an answer still fits into one, as valid JSON.
func TestTasksLargerThanAnAnswer(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	text, step := strings.Repeat("가", task.MaxText/3), strings.Repeat("나", task.MaxStepText/3)
	const started, most = 110, 140 // arguments have no room for more than started, an answer for as many whole ones as most
	id := o.does("ruda", "task_start", `{"description":%q,"steps":[%s]}`, text,
		strings.TrimSuffix(strings.Repeat(`{"content":"`+step+`"},`, started), ",")).text("taskId")
	for range most - started {
		o.does("ruda", "task_update", `{"action":"add_step","step_content":%q}`, step)
	}
	if a := o.refuses(task.CodeStopGuard, "ruda", "task_complete", `{}`); len(a.list("remaining_steps")) != most {
		t.Errorf("%d steps remain", len(a.list("remaining_steps")))
	}
	shown := o.task("ruda", id)
	if shown["shortened"] != true || len(shown.list("steps")) != most || shown.text("description") == "" || !strings.HasPrefix(text, shown.text("description")) {
		t.Errorf("shortened is %v, %d steps", shown["shortened"], len(shown.list("steps")))
	}
	if a := o.does("ruda", "task_list", `{"scope":"all"}`); a.number("count") != 1 {
		t.Errorf("list: %v", a)
	}
}
