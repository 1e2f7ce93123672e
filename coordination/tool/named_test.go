package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

func TestRestrictedTools(t *testing.T) {
	t.Parallel()
	exec, process := &tool.Spec{Name: tool.NameExec, Group: tool.GroupRuntime}, &tool.Spec{Name: tool.NameProcess, Group: tool.GroupRuntime}
	changes, reads := &tool.Spec{Name: "files__write_file", Group: tool.GroupMCP}, &tool.Spec{Name: "files__read_file", Group: tool.GroupMCP, ReadOnly: true}
	start, write := &tool.Spec{Name: "task_start", Group: tool.GroupTasks}, &tool.Spec{Name: "write", Group: tool.GroupFiles}
	for _, c := range []struct {
		entry string
		spec  *tool.Spec
		args  string
		want  bool
	}{
		{" EXEC ", exec, `{}`, true}, {"ex*", exec, `{}`, true}, {"group:runtime", exec, `{}`, true}, {"write", exec, `{}`, false},
		{"exec", process, `{"action":"submit"}`, true}, {"exec", process, `{"action":"send-keys"}`, true}, {"exec", process, `{"action":"poll","action":"write"}`, true},
		{"exec", process, `{"action":"poll"}`, false}, {"exec", process, `{"action":"kill"}`, false}, {"exec", process, ``, true},
		{"write", process, `{"action":"submit"}`, false}, {"process", process, `{"action":"poll"}`, true},
		{"group:mcp-changes", changes, `{}`, true}, {"group:mcp-changes", reads, `{}`, false}, {"group:mcp", reads, `{}`, true}, {"files__*", reads, `{}`, true},
		{"group:mcp-changes", write, `{}`, false}, {"group:fs", write, `{}`, true}, {"group:files", write, `{}`, false},
		{"*", start, `{}`, false}, {"group:openclaw", start, `{}`, false}, {"group:tasks", start, `{}`, false}, {"task_start", start, `{}`, true}, {"*", write, `{}`, true},
	} {
		if got := tool.Restricts([]string{"other", c.entry}, c.spec, json.RawMessage(c.args)); got != c.want {
			t.Errorf("%q restricts %s %s: %t", c.entry, c.spec.Name, c.args, got)
		}
	}
}
